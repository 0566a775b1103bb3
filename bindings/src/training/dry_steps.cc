// SPDX-License-Identifier: Apache-2.0
#include "src/training/dry_steps.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "horovodpp/core/memory/checksum.h"
#include "horovodpp/replica/dry_step.h"
#include "horovodpp/replica/objects.h"
#include "horovodpp/runtime/runtime.h"
#include "src/described.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;
using nb::arg;
using replica::DryStep;

// Name, layout, values, gradient, whether it is finite and was the same twice,
// and its place in the order of gradients.
using Parameter =
    std::tuple<std::string, std::string, Described, std::optional<Described>,
               bool, bool, std::int64_t>;

std::uint64_t checksum_of(const Described& tensor) {
  const TensorView view = view_of(tensor);
  return checksum(view.data(), view.bytes());
}

std::vector<DryStep::Parameter> described(
    const std::vector<Parameter>& parameters) {
  std::vector<DryStep::Parameter> all;
  for (const auto& [name, layout, values, gradient, is_finite, is_reproduced,
                    place] : parameters) {
    DryStep::Parameter& each = all.emplace_back();
    each.name = name;
    each.layout = layout;
    each.bytes = view_of(values).bytes();
    each.checksum = checksum_of(values);
    if (gradient) each.gradient = checksum_of(*gradient);
    each.is_finite = is_finite;
    each.is_reproduced = is_reproduced;
    each.place = place;
  }
  return all;
}

std::tuple<std::vector<std::string>, std::vector<std::string>, std::string>
compare(const std::vector<Parameter>& parameters,
        const std::vector<Parameter>& buffers, double loss,
        bool is_loss_reproduced, double seconds, std::int64_t peak_bytes) {
  const nb::gil_scoped_release without_gil;
  const DryStep mine = {.parameters = described(parameters),
                        .buffers = described(buffers),
                        .loss = loss,
                        .is_loss_reproduced = is_loss_reproduced,
                        .seconds = seconds,
                        .peak_bytes = peak_bytes};
  replica::DryStepReport report =
      replica::compare_dry_steps(*replica::job_of(nullptr), mine);
  return {std::move(report.problems), std::move(report.notes),
          std::move(report.summary)};
}

}  // namespace

void add_dry_steps(nb::module_& module) {
  module.def("compare_dry_steps", &compare, arg("parameters"), arg("buffers"),
             arg("loss"), arg("is_loss_reproduced"), arg("seconds"),
             arg("peak_bytes"),
             "(problems, notes, summary). All ranks call it.");
}

}  // namespace hvd::python
