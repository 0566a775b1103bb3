// SPDX-License-Identifier: Apache-2.0
#include "src/training/compression.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/compression/compressors.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"
#include "src/described.h"
#include "src/errors.h"
#include "src/operation.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;
using compression::Compressor;
using compression::Exchange;
using compression::ExchangeOptions;
using nb::arg;

// A gradient's key and memory.
using Named = std::pair<std::string, Described>;

std::unique_ptr<Exchange> start(Compressor& compressor,
                                const std::vector<Named>& gradients,
                                std::string name, int op, double prescale,
                                double postscale, const ProcessSet& set) {
  std::vector<compression::Gradient> batch;
  for (const auto& [key, tensor] : gradients) {
    batch.push_back({key, view_of(tensor)});
  }
  const nb::gil_scoped_release without_gil;
  const auto job = value_or_throw(find_runtime());
  const auto ranks =
      static_cast<int>(value_or_throw(job->ranks_of(set)).size());
  return compressor.start(*job, std::move(batch),
                          {.name = std::move(name),
                           .op = static_cast<ReduceOp>(op),
                           .prescale_factor = prescale,
                           .postscale_factor = postscale,
                           .process_set = set,
                           .num_ranks = ranks});
}

void finish(Exchange& exchange) {
  Status status;
  {
    const nb::gil_scoped_release without_gil;
    status = exchange.advance();
    if (status.ok()) status = exchange.finish();
  }
  raise_if_failed(status);
}

// The state of a compressor, as pairs of a name and an array of float32.
nb::list state_of(const Compressor& compressor) {
  nb::list state;
  for (auto& [name, values] : compressor.state()) {
    auto kept = std::make_shared<std::vector<float>>(std::move(values));
    void* const memory = kept->data();
    const std::size_t bytes = kept->size() * sizeof(float);
    state.append(
        nb::make_tuple(name, bytes_over(memory, bytes, std::move(kept))));
  }
  return state;
}

void load_state(Compressor& compressor,
                const std::vector<std::pair<std::string, Described>>& state) {
  std::vector<compression::RememberedValues> values;
  for (const auto& [name, tensor] : state) {
    const TensorView view = view_of(tensor);
    const auto* const first = static_cast<const float*>(view.data());
    values.push_back({name, {first, first + view.num_elements()}});
  }
  compressor.load_state(values);
}

}  // namespace

void add_compression(nb::module_& module) {
  nb::class_<Exchange>(module, "Exchange", "Gradients in flight.")
      .def("finish", &finish,
           "Waits, and writes the reduced gradients over the sent ones.");
  nb::class_<Compressor>(module, "Compressor",
                         "Sends float32 gradients in fewer bytes. Adds the "
                         "omitted part to the next gradient of the same key.")
      .def("start", &start, arg("gradients"), arg("name"), arg("op"),
           arg("prescale_factor"), arg("postscale_factor"), arg("process_set"))
      .def("state", &state_of,
           "The saved state: (name, bytes of float32) of each '<key>.<part>'.")
      .def("load_state", &load_state, arg("state"),
           "Replaces the saved state: (name, tensor of float32).");
  module.def("int8_blocks", &compression::int8_blocks);
  module.def(
      "top_k",
      [](double share, double momentum, std::int64_t warmup_steps,
         double warmup_share, bool mask_velocity, std::int64_t whole_below,
         double max_norm) {
        return compression::top_k({.share = share,
                                   .warmup_steps = warmup_steps,
                                   .warmup_share = warmup_share,
                                   .momentum = momentum,
                                   .mask_velocity = mask_velocity,
                                   .whole_below = whole_below,
                                   .max_norm = max_norm});
      },
      arg("share"), arg("momentum"), arg("warmup_steps"), arg("warmup_share"),
      arg("mask_velocity"), arg("whole_below"), arg("max_norm"));
  module.def(
      "signs",
      [](double momentum, std::int64_t warmup_steps) {
        return compression::signs(
            {.warmup_steps = warmup_steps, .momentum = momentum});
      },
      arg("momentum"), arg("warmup_steps"));
  module.def(
      "power_sgd",
      [](std::int64_t rank) { return compression::power_sgd(rank); },
      arg("rank"));
}

}  // namespace hvd::python
