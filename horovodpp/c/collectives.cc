// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "horovodpp/c/arguments.h"
#include "horovodpp/c/call.h"
#include "horovodpp/c/horovodpp.h"
#include "horovodpp/c/operation.h"
#include "horovodpp/c/process_sets.h"
#include "horovodpp/core/status.h"
#include "horovodpp/replica/broadcast.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::c {
namespace {

// AllreduceOptions and ReducescatterOptions, which say the same.
template <typename Options>
absl::StatusOr<Options> reduction_options(const hvd_allreduce_options* given) {
  HVD_ASSIGN_OR_RETURN(const hvd_allreduce_options read,
                       read_options(given, HVD_ALLREDUCE_OPTIONS));
  HVD_ASSIGN_OR_RETURN(const ReduceOp op, op_of(read.op));
  HVD_ASSIGN_OR_RETURN(ProcessSet set, set_of(read.process_set));
  return Options{.name = text_of(read.name),
                 .op = op,
                 .prescale_factor = read.prescale_factor,
                 .postscale_factor = read.postscale_factor,
                 .average_of_participants = read.average_of_participants != 0,
                 .process_set = std::move(set)};
}

// AllgatherOptions and BroadcastOptions, which do so, too.
template <typename Options>
absl::StatusOr<Options> moving_options(const hvd_collective_options* given) {
  HVD_ASSIGN_OR_RETURN(const hvd_collective_options read,
                       read_options(given, HVD_COLLECTIVE_OPTIONS));
  HVD_ASSIGN_OR_RETURN(ProcessSet set, set_of(read.process_set));
  return Options{.name = text_of(read.name), .process_set = std::move(set)};
}

absl::StatusOr<AlltoallOptions> alltoall_options(
    const hvd_alltoall_options* given) {
  HVD_ASSIGN_OR_RETURN(const hvd_alltoall_options read,
                       read_options(given, HVD_ALLTOALL_OPTIONS));
  HVD_ASSIGN_OR_RETURN(ProcessSet set, set_of(read.process_set));
  AlltoallOptions options;
  options.name = text_of(read.name);
  options.process_set = std::move(set);
  if (read.num_splits > 0) {
    HVD_RETURN_IF_ERROR(check_not_null(read.splits, "splits"));
    options.splits.assign(read.splits, read.splits + read.num_splits);
  }
  return options;
}

std::vector<ConstTensorView> as_const(const std::vector<TensorView>& views) {
  return {views.begin(), views.end()};
}

}  // namespace
}  // namespace hvd::c

namespace {

using hvd::AllgatherOptions;
using hvd::AllreduceOptions;
using hvd::BroadcastOptions;
using hvd::ReducescatterOptions;
using hvd::Status;
using hvd::TensorView;
using hvd::c::begin;
using hvd::c::call;
using hvd::c::check_not_null;

}  // namespace

std::int32_t hvd_allreduce(void* data, std::int64_t elements,
                           std::int32_t dtype,
                           const hvd_allreduce_options* options) {
  return call([&]() -> Status {
    HVD_ASSIGN_OR_RETURN(TensorView view,
                         hvd::c::flat_view(data, elements, dtype));
    HVD_ASSIGN_OR_RETURN(auto read,
                         hvd::c::reduction_options<AllreduceOptions>(options));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    return runtime->allreduce_(std::move(view), std::move(read));
  });
}

std::int32_t hvd_broadcast(void* data, std::int64_t elements,
                           std::int32_t dtype, std::int32_t root_rank,
                           const hvd_collective_options* options) {
  return call([&]() -> Status {
    HVD_ASSIGN_OR_RETURN(TensorView view,
                         hvd::c::flat_view(data, elements, dtype));
    HVD_ASSIGN_OR_RETURN(auto read,
                         hvd::c::moving_options<BroadcastOptions>(options));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    return runtime
        ->broadcast_async_(std::move(view), root_rank, std::move(read))
        .wait();
  });
}

std::int32_t hvd_barrier(hvd_process_set set) {
  return call([&]() -> Status {
    HVD_ASSIGN_OR_RETURN(const hvd::ProcessSet found, hvd::c::set_of(set));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    return runtime->barrier(found);
  });
}

std::int32_t hvd_allreduce_async(const hvd_tensor* tensors, std::size_t count,
                                 const hvd_allreduce_options* options,
                                 hvd_operation* operation) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(operation, "operation"));
    HVD_ASSIGN_OR_RETURN(auto views, hvd::c::views_of(tensors, count));
    HVD_ASSIGN_OR_RETURN(auto read,
                         hvd::c::reduction_options<AllreduceOptions>(options));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    if (count == 1) {
      return begin(
          runtime->allreduce_async_(std::move(views[0]), std::move(read)),
          operation);
    }
    return begin(
        runtime->grouped_allreduce_async_(std::move(views), std::move(read)),
        operation);
  });
}

std::int32_t hvd_broadcast_async(const hvd_tensor* tensor,
                                 std::int32_t root_rank,
                                 const hvd_collective_options* options,
                                 hvd_operation* operation) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(operation, "operation"));
    HVD_RETURN_IF_ERROR(check_not_null(tensor, "tensor"));
    HVD_ASSIGN_OR_RETURN(TensorView view, hvd::c::view_of(*tensor));
    HVD_ASSIGN_OR_RETURN(auto read,
                         hvd::c::moving_options<BroadcastOptions>(options));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    return begin(
        runtime->broadcast_async_(std::move(view), root_rank, std::move(read)),
        operation);
  });
}

std::int32_t hvd_allgather_async(const hvd_tensor* tensors, std::size_t count,
                                 const hvd_collective_options* options,
                                 hvd_operation* operation) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(operation, "operation"));
    HVD_ASSIGN_OR_RETURN(auto views, hvd::c::views_of(tensors, count));
    HVD_ASSIGN_OR_RETURN(auto read,
                         hvd::c::moving_options<AllgatherOptions>(options));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    if (count == 1) {
      return begin(runtime->allgather_async(views[0], std::move(read)),
                   operation);
    }
    return begin(runtime->grouped_allgather_async(hvd::c::as_const(views),
                                                  std::move(read)),
                 operation);
  });
}

std::int32_t hvd_reducescatter_async(const hvd_tensor* tensors,
                                     std::size_t count,
                                     const hvd_reducescatter_options* options,
                                     hvd_operation* operation) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(operation, "operation"));
    HVD_ASSIGN_OR_RETURN(auto views, hvd::c::views_of(tensors, count));
    HVD_ASSIGN_OR_RETURN(
        auto read, hvd::c::reduction_options<ReducescatterOptions>(options));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    if (count == 1) {
      return begin(runtime->reducescatter_async(views[0], std::move(read)),
                   operation);
    }
    return begin(runtime->grouped_reducescatter_async(hvd::c::as_const(views),
                                                      std::move(read)),
                 operation);
  });
}

std::int32_t hvd_alltoall_async(const hvd_tensor* tensor,
                                const hvd_alltoall_options* options,
                                hvd_operation* operation) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(operation, "operation"));
    HVD_RETURN_IF_ERROR(check_not_null(tensor, "tensor"));
    HVD_ASSIGN_OR_RETURN(const TensorView view, hvd::c::view_of(*tensor));
    HVD_ASSIGN_OR_RETURN(auto read, hvd::c::alltoall_options(options));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    return begin(runtime->alltoall_async(view, std::move(read)), operation);
  });
}

std::int32_t hvd_barrier_async(hvd_process_set set, hvd_operation* operation) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(operation, "operation"));
    HVD_ASSIGN_OR_RETURN(const hvd::ProcessSet found, hvd::c::set_of(set));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    return begin(runtime->barrier_async(found), operation);
  });
}

std::int32_t hvd_join_async(hvd_process_set set, hvd_operation* operation) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(operation, "operation"));
    HVD_ASSIGN_OR_RETURN(const hvd::ProcessSet found, hvd::c::set_of(set));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    return begin(runtime->join_async(found), operation);
  });
}

std::int32_t hvd_broadcast_tensors(const char* const* names,
                                   const hvd_tensor* tensors, std::size_t count,
                                   std::int32_t root_rank,
                                   const hvd_collective_options* options) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(names, "names"));
    HVD_ASSIGN_OR_RETURN(const auto views, hvd::c::views_of(tensors, count));
    std::vector<hvd::replica::NamedView> named;
    for (std::size_t i = 0; i < count; ++i) {
      HVD_RETURN_IF_ERROR(check_not_null(names[i], "a name"));
      named.push_back({names[i], views[i]});
    }
    HVD_ASSIGN_OR_RETURN(auto read,
                         hvd::c::moving_options<BroadcastOptions>(options));
    if (read.name.empty()) read.name = "broadcast";
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    hvd::replica::broadcast(*runtime, named, root_rank, read);
    return {};
  });
}
