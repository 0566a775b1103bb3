// SPDX-License-Identifier: Apache-2.0
#include "src/captured_steps.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <utility>

#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/gpu/captured_step.h"
#include "horovodpp/runtime/runtime.h"
#include "src/operation.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;
using nb::arg;

CapturedStep capture(const nb::callable& step, std::string name, int gpu,
                     std::uintptr_t stream, const ProcessSet& set) {
  CaptureOptions options;
  options.name = std::move(name);
  options.device = Device::cuda(gpu);
  options.stream = reinterpret_cast<void*>(stream);
  options.process_set = set;
  StatusOr<CapturedStep> captured = Status();
  {
    const nb::gil_scoped_release without_gil;
    const auto job = value_or_throw(find_runtime());
    captured = CapturedStep::capture(*job, options, [&] {
      const nb::gil_scoped_acquire with_gil;
      step();
      return Status();
    });
  }
  return value_or_raise(std::move(captured));
}

}  // namespace

void add_captured_steps(nb::module_& module) {
  nb::class_<CapturedStep>(module, "CapturedStep",
                           "A step that `capture` recorded from a stream.")
      .def(
          "replay", [](CapturedStep& step) { return operation(step.replay()); },
          "Starts a replay of the step; returns an Operation.");
  module.def("capture", &capture, arg("step"), arg("name"), arg("gpu"),
             arg("stream"), arg("process_set"),
             "Calls `step`, and records its work in `stream` of GPU `gpu`.");
}

}  // namespace hvd::python
