// SPDX-License-Identifier: Apache-2.0
// Collectives over memory that Python describes as (address, dtype, shape).
#include "src/collectives.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/runtime.h"
#include "src/described.h"
#include "src/operation.h"
#include "src/process_sets.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;
using nb::arg;

using Started = std::unique_ptr<Operation>;

TensorViews views_of(const std::vector<Described>& tensors) {
  TensorViews views;
  views.reserve(tensors.size());
  for (const Described& tensor : tensors) views.push_back(view_of(tensor));
  return views;
}

ConstTensorViews const_views_of(const std::vector<Described>& tensors) {
  const TensorViews views = views_of(tensors);
  return {views.begin(), views.end()};
}

// The options of a reduction, as Python passes them.
struct Reducing {
  std::string name;
  int op;
  double prescale;
  double postscale;
  const ProcessSet& set;
};

// Sets the fields of AllreduceOptions or ReducescatterOptions.
template <typename Options>
Options options_of(Reducing reducing, void* stream) {
  Options options;
  options.name = std::move(reducing.name);
  options.op = static_cast<ReduceOp>(reducing.op);
  options.prescale_factor = reducing.prescale;
  options.postscale_factor = reducing.postscale;
  options.process_set = reducing.set;
  options.stream = stream;
  return options;
}

// Sets the fields of AllgatherOptions or BroadcastOptions.
template <typename Options>
Options options_of(std::string name, const ProcessSet& set, void* stream) {
  Options options;
  options.name = std::move(name);
  options.process_set = set;
  options.stream = stream;
  return options;
}

Started start_allreduce_(const Described& tensor, std::string name, int op,
                         double prescale, double postscale,
                         const ProcessSet& set) {
  const auto span = span_of("ALLREDUCE", name);
  return operation(
      span, allreduce_async_(view_of(tensor), options_of<AllreduceOptions>(
                                                  {std::move(name), op,
                                                   prescale, postscale, set},
                                                  stream_of(tensor))));
}

Started start_allreduce(const Described& tensor, std::string name, int op,
                        double prescale, double postscale,
                        const ProcessSet& set) {
  const auto span = span_of("ALLREDUCE", name);
  return operation(
      span, allreduce_async(view_of(tensor),
                            options_of<AllreduceOptions>(
                                {std::move(name), op, prescale, postscale, set},
                                stream_of(tensor))));
}

Started start_grouped_allreduce_(const std::vector<Described>& tensors,
                                 std::string name, int op, double prescale,
                                 double postscale, const ProcessSet& set) {
  const auto span = span_of("ALLREDUCE", name);
  return operation(span, grouped_allreduce_async_(
                             views_of(tensors), options_of<AllreduceOptions>(
                                                    {std::move(name), op,
                                                     prescale, postscale, set},
                                                    stream_of(tensors))));
}

Started start_grouped_allreduce(const std::vector<Described>& tensors,
                                std::string name, int op, double prescale,
                                double postscale, const ProcessSet& set) {
  const auto span = span_of("ALLREDUCE", name);
  return operation(span, grouped_allreduce_async(const_views_of(tensors),
                                                 options_of<AllreduceOptions>(
                                                     {std::move(name), op,
                                                      prescale, postscale, set},
                                                     stream_of(tensors))));
}

Started start_reducescatter(const Described& tensor, std::string name, int op,
                            double prescale, double postscale,
                            const ProcessSet& set) {
  const auto span = span_of("REDUCESCATTER", name);
  return operation(
      span,
      reducescatter_async(view_of(tensor),
                          options_of<ReducescatterOptions>(
                              {std::move(name), op, prescale, postscale, set},
                              stream_of(tensor))));
}

Started start_grouped_reducescatter(const std::vector<Described>& tensors,
                                    std::string name, int op, double prescale,
                                    double postscale, const ProcessSet& set) {
  const auto span = span_of("REDUCESCATTER", name);
  return operation(span,
                   grouped_reducescatter_async(
                       const_views_of(tensors),
                       options_of<ReducescatterOptions>(
                           {std::move(name), op, prescale, postscale, set},
                           stream_of(tensors))));
}

Started start_allgather(const Described& tensor, std::string name,
                        const ProcessSet& set) {
  const auto span = span_of("ALLGATHER", name);
  return operation(
      span, allgather_async(view_of(tensor),
                            options_of<AllgatherOptions>(std::move(name), set,
                                                         stream_of(tensor))));
}

Started start_grouped_allgather(const std::vector<Described>& tensors,
                                std::string name, const ProcessSet& set) {
  const auto span = span_of("ALLGATHER", name);
  return operation(span, grouped_allgather_async(
                             const_views_of(tensors),
                             options_of<AllgatherOptions>(std::move(name), set,
                                                          stream_of(tensors))));
}

Started start_broadcast_(const Described& tensor, int root_rank,
                         std::string name, const ProcessSet& set) {
  const auto span = span_of("BROADCAST", name);
  return operation(
      span, broadcast_async_(view_of(tensor), root_rank,
                             options_of<BroadcastOptions>(std::move(name), set,
                                                          stream_of(tensor))));
}

Started start_broadcast(const Described& tensor, int root_rank,
                        std::string name, const ProcessSet& set) {
  const auto span = span_of("BROADCAST", name);
  return operation(
      span, broadcast_async(view_of(tensor), root_rank,
                            options_of<BroadcastOptions>(std::move(name), set,
                                                         stream_of(tensor))));
}

Started start_alltoall(const Described& tensor,
                       std::vector<std::int64_t> splits, std::string name,
                       const ProcessSet& set) {
  const auto span = span_of("ALLTOALL", name);
  auto options =
      options_of<AlltoallOptions>(std::move(name), set, stream_of(tensor));
  options.splits = std::move(splits);
  return operation(span, alltoall_async(view_of(tensor), std::move(options)));
}

Started start_join(const ProcessSet& set) {
  return operation(span_of("JOIN", ""), join_async(set));
}

Started start_barrier(const ProcessSet& set) {
  return operation(span_of("BARRIER", ""),
                   value_or_throw(find_runtime())->barrier_async(set));
}

}  // namespace

void add_collectives(nb::module_& module) {
  module.def("allreduce_", &start_allreduce_, arg("tensor"), arg("name"),
             arg("op"), arg("prescale_factor"), arg("postscale_factor"),
             arg("process_set"));
  module.def("allreduce", &start_allreduce, arg("tensor"), arg("name"),
             arg("op"), arg("prescale_factor"), arg("postscale_factor"),
             arg("process_set"));
  module.def("grouped_allreduce_", &start_grouped_allreduce_, arg("tensors"),
             arg("name"), arg("op"), arg("prescale_factor"),
             arg("postscale_factor"), arg("process_set"));
  module.def("grouped_allreduce", &start_grouped_allreduce, arg("tensors"),
             arg("name"), arg("op"), arg("prescale_factor"),
             arg("postscale_factor"), arg("process_set"));
  module.def("reducescatter", &start_reducescatter, arg("tensor"), arg("name"),
             arg("op"), arg("prescale_factor"), arg("postscale_factor"),
             arg("process_set"));
  module.def("grouped_reducescatter", &start_grouped_reducescatter,
             arg("tensors"), arg("name"), arg("op"), arg("prescale_factor"),
             arg("postscale_factor"), arg("process_set"));
  module.def("allgather", &start_allgather, arg("tensor"), arg("name"),
             arg("process_set"));
  module.def("grouped_allgather", &start_grouped_allgather, arg("tensors"),
             arg("name"), arg("process_set"));
  module.def("broadcast_", &start_broadcast_, arg("tensor"), arg("root_rank"),
             arg("name"), arg("process_set"));
  module.def("broadcast", &start_broadcast, arg("tensor"), arg("root_rank"),
             arg("name"), arg("process_set"));
  module.def("alltoall", &start_alltoall, arg("tensor"), arg("splits"),
             arg("name"), arg("process_set"));
  module.def("join", &start_join, arg("process_set"));
  module.def("barrier", &start_barrier, arg("process_set"));
}

}  // namespace hvd::python
