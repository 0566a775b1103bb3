// SPDX-License-Identifier: Apache-2.0
// Collectives over memory that Python describes as (address, dtype, shape).
#include "src/collectives.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
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

// A collective takes one tensor or a group; Python describes it as this.
template <typename View>
inline constexpr bool is_one =
    std::is_same_v<View, TensorView> || std::is_same_v<View, ConstTensorView>;
template <typename View>
using Given =
    std::conditional_t<is_one<View>, Described, std::vector<Described>>;

template <typename View>
std::remove_cvref_t<View> views_of(const Given<View>& given) {
  if constexpr (is_one<View>) {
    return view_of(given);
  } else {
    std::remove_cvref_t<View> views;
    for (const Described& tensor : given) views.push_back(view_of(tensor));
    return views;
  }
}
template <typename View>
arg tensors_arg() {
  return arg(is_one<View> ? "tensor" : "tensors");
}

template <typename Options>
Options options_of(std::string name, const ProcessSet& set, void* stream) {
  Options options;
  options.name = std::move(name);
  options.process_set = set;
  options.stream = stream;
  return options;
}

// The options of a reduction, as Python passes them.
struct Reducing {
  std::string name;
  int op;
  double prescale;
  double postscale;
  const ProcessSet& set;

  template <typename Options>
  Options options(void* stream) {
    auto options = options_of<Options>(std::move(name), set, stream);
    options.op = static_cast<ReduceOp>(op);
    options.prescale_factor = prescale;
    options.postscale_factor = postscale;
    return options;
  }
};

// Each of these adds a function of global_collectives.h to the module.
template <typename T, typename View, typename Options>
void def_reduction(nb::module_& module, const char* name,
                   Future<T> (*collective)(View, Options)) {
  module.def(
      name,
      [=](const Given<View>& given, std::string called, int op, double prescale,
          double postscale, const ProcessSet& set) {
        Reducing reducing{std::move(called), op, prescale, postscale, set};
        return operation(
            collective(views_of<View>(given),
                       reducing.options<Options>(stream_of(given))));
      },
      tensors_arg<View>(), arg("name"), arg("op"), arg("prescale_factor"),
      arg("postscale_factor"), arg("process_set"));
}

template <typename T, typename View, typename Options>
void def_rooted_reduction(nb::module_& module, const char* name,
                          Future<T> (*collective)(View, int, Options)) {
  module.def(
      name,
      [=](const Given<View>& given, int root_rank, std::string called, int op,
          double prescale, double postscale, const ProcessSet& set) {
        Reducing reducing{std::move(called), op, prescale, postscale, set};
        return operation(
            collective(views_of<View>(given), root_rank,
                       reducing.options<Options>(stream_of(given))));
      },
      tensors_arg<View>(), arg("root_rank"), arg("name"), arg("op"),
      arg("prescale_factor"), arg("postscale_factor"), arg("process_set"));
}

template <typename T, typename View, typename Options>
void def_moving(nb::module_& module, const char* name,
                Future<T> (*collective)(View, Options)) {
  module.def(
      name,
      [=](const Given<View>& given, std::string called, const ProcessSet& set) {
        return operation(collective(
            views_of<View>(given),
            options_of<Options>(std::move(called), set, stream_of(given))));
      },
      tensors_arg<View>(), arg("name"), arg("process_set"));
}

template <typename T, typename View, typename Options>
void def_rooted_moving(nb::module_& module, const char* name,
                       Future<T> (*collective)(View, int, Options)) {
  module.def(
      name,
      [=](const Given<View>& given, int root_rank, std::string called,
          const ProcessSet& set) {
        return operation(collective(
            views_of<View>(given), root_rank,
            options_of<Options>(std::move(called), set, stream_of(given))));
      },
      tensors_arg<View>(), arg("root_rank"), arg("name"), arg("process_set"));
}

Started start_alltoall(const Described& tensor,
                       std::vector<std::int64_t> splits, std::string name,
                       const ProcessSet& set) {
  auto options =
      options_of<AlltoallOptions>(std::move(name), set, stream_of(tensor));
  options.splits = std::move(splits);
  return operation(alltoall_async(view_of(tensor), std::move(options)));
}

Started start_scatter(const Described& tensor, int root_rank,
                      std::vector<std::int64_t> splits, std::string name,
                      const ProcessSet& set) {
  auto options =
      options_of<ScatterOptions>(std::move(name), set, stream_of(tensor));
  options.splits = std::move(splits);
  return operation(
      scatter_async(view_of(tensor), root_rank, std::move(options)));
}

MessageOptions message_options(const Described& tensor, int tag,
                               const ProcessSet& set) {
  return {.tag = tag, .process_set = set, .stream = stream_of(tensor)};
}

Started start_send(const Described& tensor, int to_rank, int tag,
                   const ProcessSet& set) {
  return operation(
      send_async(view_of(tensor), to_rank, message_options(tensor, tag, set)));
}

Started start_receive(const Described& tensor, int from_rank, int tag,
                      const ProcessSet& set) {
  return operation(receive_async(view_of(tensor), from_rank,
                                 message_options(tensor, tag, set)));
}

Started start_join(const ProcessSet& set) { return operation(join_async(set)); }

Started start_barrier(const ProcessSet& set) {
  return operation(value_or_throw(find_runtime())->barrier_async(set));
}

}  // namespace

void add_collectives(nb::module_& module) {
  def_reduction(module, "allreduce_", &allreduce_async_);
  def_reduction(module, "allreduce", &allreduce_async);
  def_reduction(module, "grouped_allreduce_", &grouped_allreduce_async_);
  def_reduction(module, "grouped_allreduce", &grouped_allreduce_async);
  def_reduction(module, "reducescatter", &reducescatter_async);
  def_reduction(module, "grouped_reducescatter", &grouped_reducescatter_async);
  def_rooted_reduction(module, "reduce_", &reduce_async_);
  def_rooted_reduction(module, "reduce", &reduce_async);
  def_moving(module, "allgather", &allgather_async);
  def_moving(module, "grouped_allgather", &grouped_allgather_async);
  def_rooted_moving(module, "broadcast_", &broadcast_async_);
  def_rooted_moving(module, "broadcast", &broadcast_async);
  def_rooted_moving(module, "gather", &gather_async);
  module.def("alltoall", &start_alltoall, arg("tensor"), arg("splits"),
             arg("name"), arg("process_set"));
  module.def("scatter", &start_scatter, arg("tensor"), arg("root_rank"),
             arg("splits"), arg("name"), arg("process_set"));
  module.def("send", &start_send, arg("tensor"), arg("to_rank"), arg("tag"),
             arg("process_set"),
             "Sends the tensor to a rank of the job, a member of the set. Done "
             "once that rank has received it.");
  module.def("receive", &start_receive, arg("tensor"), arg("from_rank"),
             arg("tag"), arg("process_set"),
             "Receives into the tensor, from a rank of the job, a member of "
             "the set, or from any (-1). The result is the rank that has "
             "sent.");
  module.def("join", &start_join, arg("process_set"));
  module.def("barrier", &start_barrier, arg("process_set"));
}

}  // namespace hvd::python
