// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "horovodpp/c/arguments.h"
#include "horovodpp/c/call.h"
#include "horovodpp/c/collective_options.h"
#include "horovodpp/c/horovodpp.h"
#include "horovodpp/c/operation.h"
#include "horovodpp/c/process_sets.h"
#include "horovodpp/core/status.h"
#include "horovodpp/replica/broadcast.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::c {
namespace {

using AnyFuture = absl::StatusOr<Operation::AnyFuture>;

// Starts `submit(job)` and gives its future a handle.
template <typename Submit>
std::int32_t begin_by(hvd_operation* operation, Submit&& submit) noexcept {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(operation, "operation"));
    HVD_ASSIGN_OR_RETURN(const auto runtime, find_runtime());
    HVD_ASSIGN_OR_RETURN(auto future, submit(*runtime));
    return begin(std::move(future), operation);
  });
}

absl::StatusOr<Future<void>> barrier(Runtime& job, hvd_process_set set) {
  HVD_ASSIGN_OR_RETURN(const ProcessSet found, set_of(set));
  return job.barrier_async(found);
}

// Starts `submit(job, view)` of one tensor.
template <typename Submit>
std::int32_t begin_of(const hvd_tensor* tensor, hvd_operation* operation,
                      Submit&& submit) noexcept {
  return begin_by(operation, [&](Runtime& job) -> AnyFuture {
    HVD_RETURN_IF_ERROR(check_not_null(tensor, "tensor"));
    HVD_ASSIGN_OR_RETURN(TensorView view, view_of(*tensor));
    return submit(job, std::move(view));
  });
}

absl::StatusOr<Future<void>> broadcast(Runtime& job,
                                       absl::StatusOr<TensorView> view,
                                       std::int32_t root_rank,
                                       const hvd_collective_options* options) {
  HVD_RETURN_IF_ERROR(view.status());
  HVD_ASSIGN_OR_RETURN(auto read, moving_options<BroadcastOptions>(options));
  return job.broadcast_async_(*std::move(view), root_rank, std::move(read));
}

}  // namespace
}  // namespace hvd::c

namespace {

using hvd::AllgatherOptions;
using hvd::AllreduceOptions;
using hvd::BroadcastOptions;
using hvd::Future;
using hvd::GatherOptions;
using hvd::ReduceOptions;
using hvd::ReducescatterOptions;
using hvd::Runtime;
using hvd::Status;
using hvd::TensorView;
using hvd::c::AnyFuture;
using hvd::c::as_const;
using hvd::c::begin_by;
using hvd::c::begin_of;
using hvd::c::call;
using hvd::c::check_not_null;
using hvd::c::moving_options;
using hvd::c::reduction_options;
using hvd::c::views_of;

}  // namespace

std::int32_t hvd_allreduce(void* data, std::int64_t elements,
                           std::int32_t dtype,
                           const hvd_allreduce_options* options) {
  return call([&]() -> Status {
    HVD_ASSIGN_OR_RETURN(TensorView view,
                         hvd::c::flat_view(data, elements, dtype));
    HVD_ASSIGN_OR_RETURN(auto read,
                         reduction_options<AllreduceOptions>(options));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    return runtime->allreduce_(std::move(view), std::move(read));
  });
}

std::int32_t hvd_broadcast(void* data, std::int64_t elements,
                           std::int32_t dtype, std::int32_t root_rank,
                           const hvd_collective_options* options) {
  return call([&]() -> Status {
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    HVD_ASSIGN_OR_RETURN(
        const Future<void> future,
        hvd::c::broadcast(*runtime, hvd::c::flat_view(data, elements, dtype),
                          root_rank, options));
    return future.wait();
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
  return begin_by(operation, [&](Runtime& job) -> AnyFuture {
    HVD_ASSIGN_OR_RETURN(auto views, views_of(tensors, count));
    HVD_ASSIGN_OR_RETURN(auto read,
                         reduction_options<AllreduceOptions>(options));
    if (count == 1) {
      return job.allreduce_async_(std::move(views[0]), std::move(read));
    }
    return job.grouped_allreduce_async_(std::move(views), std::move(read));
  });
}

std::int32_t hvd_broadcast_async(const hvd_tensor* tensor,
                                 std::int32_t root_rank,
                                 const hvd_collective_options* options,
                                 hvd_operation* operation) {
  return begin_of(tensor, operation, [&](Runtime& job, auto view) -> AnyFuture {
    return hvd::c::broadcast(job, std::move(view), root_rank, options);
  });
}

std::int32_t hvd_allgather_async(const hvd_tensor* tensors, std::size_t count,
                                 const hvd_collective_options* options,
                                 hvd_operation* operation) {
  return begin_by(operation, [&](Runtime& job) -> AnyFuture {
    HVD_ASSIGN_OR_RETURN(const auto views, views_of(tensors, count));
    HVD_ASSIGN_OR_RETURN(auto read, moving_options<AllgatherOptions>(options));
    if (count == 1) return job.allgather_async(views[0], std::move(read));
    return job.grouped_allgather_async(as_const(views), std::move(read));
  });
}

std::int32_t hvd_allgather_into_async(const hvd_tensor* tensor,
                                      const hvd_tensor* result,
                                      const hvd_collective_options* options,
                                      hvd_operation* operation) {
  return begin_by(operation, [&](Runtime& job) -> AnyFuture {
    HVD_ASSIGN_OR_RETURN(auto views, hvd::c::transfer_of(tensor, result));
    HVD_ASSIGN_OR_RETURN(auto read, moving_options<AllgatherOptions>(options));
    return job.allgather_into_async(views.tensor, std::move(views.result),
                                    std::move(read));
  });
}

std::int32_t hvd_reducescatter_async(const hvd_tensor* tensors,
                                     std::size_t count,
                                     const hvd_reducescatter_options* options,
                                     hvd_operation* operation) {
  return begin_by(operation, [&](Runtime& job) -> AnyFuture {
    HVD_ASSIGN_OR_RETURN(const auto views, views_of(tensors, count));
    HVD_ASSIGN_OR_RETURN(auto read,
                         reduction_options<ReducescatterOptions>(options));
    if (count == 1) return job.reducescatter_async(views[0], std::move(read));
    return job.grouped_reducescatter_async(as_const(views), std::move(read));
  });
}

std::int32_t hvd_reducescatter_into_async(
    const hvd_tensor* tensor, const hvd_tensor* result,
    const hvd_reducescatter_options* options, hvd_operation* operation) {
  return begin_by(operation, [&](Runtime& job) -> AnyFuture {
    HVD_ASSIGN_OR_RETURN(auto views, hvd::c::transfer_of(tensor, result));
    HVD_ASSIGN_OR_RETURN(auto read,
                         reduction_options<ReducescatterOptions>(options));
    return job.reducescatter_into_async(views.tensor, std::move(views.result),
                                        std::move(read));
  });
}

std::int32_t hvd_alltoall_async(const hvd_tensor* tensor,
                                const hvd_alltoall_options* options,
                                hvd_operation* operation) {
  return begin_of(tensor, operation, [&](Runtime& job, auto view) -> AnyFuture {
    HVD_ASSIGN_OR_RETURN(auto read, hvd::c::alltoall_options(options));
    return job.alltoall_async(std::move(view), std::move(read));
  });
}

std::int32_t hvd_alltoall_into_async(const hvd_tensor* tensor,
                                     const hvd_tensor* result,
                                     const hvd_alltoall_options* options,
                                     hvd_operation* operation) {
  return begin_by(operation, [&](Runtime& job) -> AnyFuture {
    HVD_ASSIGN_OR_RETURN(auto views, hvd::c::transfer_of(tensor, result));
    HVD_ASSIGN_OR_RETURN(auto read, hvd::c::alltoall_options(options));
    return job.alltoall_into_async(views.tensor, std::move(views.result),
                                   std::move(read));
  });
}

std::int32_t hvd_reduce_async(const hvd_tensor* tensor, std::int32_t root_rank,
                              const hvd_reducescatter_options* options,
                              hvd_operation* operation) {
  return begin_of(tensor, operation, [&](Runtime& job, auto view) -> AnyFuture {
    HVD_ASSIGN_OR_RETURN(auto read, reduction_options<ReduceOptions>(options));
    return job.reduce_async_(std::move(view), root_rank, std::move(read));
  });
}

std::int32_t hvd_gather_async(const hvd_tensor* tensor, std::int32_t root_rank,
                              const hvd_collective_options* options,
                              hvd_operation* operation) {
  return begin_of(tensor, operation, [&](Runtime& job, auto view) -> AnyFuture {
    HVD_ASSIGN_OR_RETURN(auto read, moving_options<GatherOptions>(options));
    return job.gather_async(std::move(view), root_rank, std::move(read));
  });
}

std::int32_t hvd_scatter_async(const hvd_tensor* tensor, std::int32_t root_rank,
                               const hvd_alltoall_options* options,
                               hvd_operation* operation) {
  return begin_of(tensor, operation, [&](Runtime& job, auto view) -> AnyFuture {
    HVD_ASSIGN_OR_RETURN(auto read, hvd::c::alltoall_options(options));
    return job.scatter_async(std::move(view), root_rank, std::move(read));
  });
}

std::int32_t hvd_send_async(const hvd_tensor* tensor, std::int32_t to_rank,
                            std::int32_t tag,
                            const hvd_collective_options* options,
                            hvd_operation* operation) {
  return begin_of(tensor, operation, [&](Runtime& job, auto view) -> AnyFuture {
    HVD_ASSIGN_OR_RETURN(auto read, hvd::c::message_options(tag, options));
    return job.send_async(std::move(view), to_rank, std::move(read));
  });
}

std::int32_t hvd_receive_async(const hvd_tensor* tensor, std::int32_t from_rank,
                               std::int32_t tag,
                               const hvd_collective_options* options,
                               hvd_operation* operation) {
  return begin_of(tensor, operation, [&](Runtime& job, auto view) -> AnyFuture {
    HVD_ASSIGN_OR_RETURN(auto read, hvd::c::message_options(tag, options));
    return job.receive_async(std::move(view), from_rank, std::move(read));
  });
}

std::int32_t hvd_barrier_async(hvd_process_set set, hvd_operation* operation) {
  return begin_by(operation, [&](Runtime& job) -> AnyFuture {
    return hvd::c::barrier(job, set);
  });
}

std::int32_t hvd_join_async(hvd_process_set set, hvd_operation* operation) {
  return begin_by(operation, [&](Runtime& job) -> AnyFuture {
    HVD_ASSIGN_OR_RETURN(const hvd::ProcessSet found, hvd::c::set_of(set));
    return job.join_async(found);
  });
}

std::int32_t hvd_broadcast_tensors(const char* const* names,
                                   const hvd_tensor* tensors, std::size_t count,
                                   std::int32_t root_rank,
                                   const hvd_collective_options* options) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(names, "names"));
    HVD_ASSIGN_OR_RETURN(const auto views, views_of(tensors, count));
    std::vector<hvd::replica::NamedView> named;
    for (std::size_t i = 0; i < count; ++i) {
      HVD_RETURN_IF_ERROR(check_not_null(names[i], "a name"));
      named.push_back({names[i], views[i]});
    }
    HVD_ASSIGN_OR_RETURN(auto read, moving_options<BroadcastOptions>(options));
    if (read.name.empty()) read.name = "broadcast";
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    hvd::replica::broadcast(*runtime, named, root_rank, read);
    return {};
  });
}
