// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/global_collectives.h"

#include <algorithm>
#include <memory>

#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/promise.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/waits_at_once.h"

namespace hvd {
namespace {

// Calls a function of the current runtime; without one, the future has that
// error.
template <typename T, typename... Parameters, typename... Arguments>
Future<T> on_runtime(Future<T> (Runtime::*function)(Parameters...),
                     Arguments&&... arguments) {
  auto runtime = find_runtime();
  if (!runtime.ok()) return Future<T>::ready(runtime.status());
  return ((**runtime).*function)(std::forward<Arguments>(arguments)...);
}

// The same, and waits.
template <typename T, typename... Parameters, typename... Arguments>
Outcome<T> waited(Future<T> (Runtime::*function)(Parameters...),
                  Arguments&&... arguments) {
  const WaitsAtOnce at_once;
  return on_runtime(function, std::forward<Arguments>(arguments)...).wait();
}

}  // namespace

Future<void> allreduce_async_(TensorView tensor, AllreduceOptions options) {
  return on_runtime(&Runtime::allreduce_async_, std::move(tensor),
                    std::move(options));
}

Status allreduce_(TensorView tensor, AllreduceOptions options) {
  HVD_ASSIGN_OR_RETURN(const auto runtime, find_runtime());
  return runtime->allreduce_(std::move(tensor), std::move(options));
}

Future<Buffer> allreduce_async(ConstTensorView tensor,
                               AllreduceOptions options) {
  return on_runtime(&Runtime::allreduce_async, std::move(tensor),
                    std::move(options));
}

StatusOr<Buffer> allreduce(ConstTensorView tensor, AllreduceOptions options) {
  return waited(&Runtime::allreduce_async, std::move(tensor),
                std::move(options));
}

Future<void> grouped_allreduce_async_(TensorViews tensors,
                                      AllreduceOptions options) {
  return on_runtime(&Runtime::grouped_allreduce_async_, std::move(tensors),
                    std::move(options));
}

Status grouped_allreduce_(TensorViews tensors, AllreduceOptions options) {
  return waited(&Runtime::grouped_allreduce_async_, std::move(tensors),
                std::move(options));
}

Future<Buffers> grouped_allreduce_async(const ConstTensorViews& tensors,
                                        AllreduceOptions options) {
  return on_runtime(&Runtime::grouped_allreduce_async, tensors,
                    std::move(options));
}

StatusOr<Buffers> grouped_allreduce(const ConstTensorViews& tensors,
                                    AllreduceOptions options) {
  return waited(&Runtime::grouped_allreduce_async, tensors, std::move(options));
}

Future<Buffer> allgather_async(ConstTensorView tensor,
                               AllgatherOptions options) {
  return on_runtime(&Runtime::allgather_async, std::move(tensor),
                    std::move(options));
}

StatusOr<Buffer> allgather(ConstTensorView tensor, AllgatherOptions options) {
  return waited(&Runtime::allgather_async, std::move(tensor),
                std::move(options));
}

Future<void> allgather_into_async(ConstTensorView tensor, TensorView result,
                                  AllgatherOptions options) {
  return on_runtime(&Runtime::allgather_into_async, std::move(tensor),
                    std::move(result), std::move(options));
}

Status allgather_into(ConstTensorView tensor, TensorView result,
                      AllgatherOptions options) {
  return waited(&Runtime::allgather_into_async, std::move(tensor),
                std::move(result), std::move(options));
}

Future<Buffers> grouped_allgather_async(const ConstTensorViews& tensors,
                                        AllgatherOptions options) {
  return on_runtime(&Runtime::grouped_allgather_async, tensors,
                    std::move(options));
}

StatusOr<Buffers> grouped_allgather(const ConstTensorViews& tensors,
                                    AllgatherOptions options) {
  return waited(&Runtime::grouped_allgather_async, tensors, std::move(options));
}

Future<void> broadcast_async_(TensorView tensor, int root_rank,
                              BroadcastOptions options) {
  return on_runtime(&Runtime::broadcast_async_, std::move(tensor), root_rank,
                    std::move(options));
}

Status broadcast_(TensorView tensor, int root_rank, BroadcastOptions options) {
  return waited(&Runtime::broadcast_async_, std::move(tensor), root_rank,
                std::move(options));
}

Future<Buffer> broadcast_async(ConstTensorView tensor, int root_rank,
                               BroadcastOptions options) {
  return on_runtime(&Runtime::broadcast_async, std::move(tensor), root_rank,
                    std::move(options));
}

StatusOr<Buffer> broadcast(ConstTensorView tensor, int root_rank,
                           BroadcastOptions options) {
  return waited(&Runtime::broadcast_async, std::move(tensor), root_rank,
                std::move(options));
}

Future<AlltoallResult> alltoall_async(ConstTensorView tensor,
                                      AlltoallOptions options) {
  return on_runtime(&Runtime::alltoall_async, std::move(tensor),
                    std::move(options));
}

StatusOr<AlltoallResult> alltoall(ConstTensorView tensor,
                                  AlltoallOptions options) {
  return waited(&Runtime::alltoall_async, std::move(tensor),
                std::move(options));
}

Future<std::vector<std::int64_t>> alltoall_into_async(ConstTensorView tensor,
                                                      TensorView result,
                                                      AlltoallOptions options) {
  return on_runtime(&Runtime::alltoall_into_async, std::move(tensor),
                    std::move(result), std::move(options));
}

StatusOr<std::vector<std::int64_t>> alltoall_into(ConstTensorView tensor,
                                                  TensorView result,
                                                  AlltoallOptions options) {
  return waited(&Runtime::alltoall_into_async, std::move(tensor),
                std::move(result), std::move(options));
}

Future<Buffer> reducescatter_async(ConstTensorView tensor,
                                   ReducescatterOptions options) {
  return on_runtime(&Runtime::reducescatter_async, std::move(tensor),
                    std::move(options));
}

StatusOr<Buffer> reducescatter(ConstTensorView tensor,
                               ReducescatterOptions options) {
  return waited(&Runtime::reducescatter_async, std::move(tensor),
                std::move(options));
}

Future<void> reducescatter_into_async(ConstTensorView tensor, TensorView result,
                                      ReducescatterOptions options) {
  return on_runtime(&Runtime::reducescatter_into_async, std::move(tensor),
                    std::move(result), std::move(options));
}

Status reducescatter_into(ConstTensorView tensor, TensorView result,
                          ReducescatterOptions options) {
  return waited(&Runtime::reducescatter_into_async, std::move(tensor),
                std::move(result), std::move(options));
}

Future<Buffers> grouped_reducescatter_async(const ConstTensorViews& tensors,
                                            ReducescatterOptions options) {
  return on_runtime(&Runtime::grouped_reducescatter_async, tensors,
                    std::move(options));
}

StatusOr<Buffers> grouped_reducescatter(const ConstTensorViews& tensors,
                                        ReducescatterOptions options) {
  return waited(&Runtime::grouped_reducescatter_async, tensors,
                std::move(options));
}

Future<void> reduce_async_(TensorView tensor, int root_rank,
                           ReduceOptions options) {
  return on_runtime(&Runtime::reduce_async_, std::move(tensor), root_rank,
                    std::move(options));
}

Future<Buffer> reduce_async(ConstTensorView tensor, int root_rank,
                            ReduceOptions options) {
  return on_runtime(&Runtime::reduce_async, std::move(tensor), root_rank,
                    std::move(options));
}

Status reduce_(TensorView tensor, int root_rank, ReduceOptions options) {
  return waited(&Runtime::reduce_async_, std::move(tensor), root_rank,
                std::move(options));
}

StatusOr<Buffer> reduce(ConstTensorView tensor, int root_rank,
                        ReduceOptions options) {
  return waited(&Runtime::reduce_async, std::move(tensor), root_rank,
                std::move(options));
}

Future<Buffer> gather_async(ConstTensorView tensor, int root_rank,
                            GatherOptions options) {
  return on_runtime(&Runtime::gather_async, std::move(tensor), root_rank,
                    std::move(options));
}

StatusOr<Buffer> gather(ConstTensorView tensor, int root_rank,
                        GatherOptions options) {
  return waited(&Runtime::gather_async, std::move(tensor), root_rank,
                std::move(options));
}

Future<Buffer> scatter_async(ConstTensorView tensor, int root_rank,
                             ScatterOptions options) {
  return on_runtime(&Runtime::scatter_async, std::move(tensor), root_rank,
                    std::move(options));
}

StatusOr<Buffer> scatter(ConstTensorView tensor, int root_rank,
                         ScatterOptions options) {
  return waited(&Runtime::scatter_async, std::move(tensor), root_rank,
                std::move(options));
}

Future<void> send_async(ConstTensorView tensor, int to_rank,
                        MessageOptions options) {
  return on_runtime(&Runtime::send_async, std::move(tensor), to_rank,
                    std::move(options));
}

Status send(ConstTensorView tensor, int to_rank, MessageOptions options) {
  return waited(&Runtime::send_async, std::move(tensor), to_rank,
                std::move(options));
}

Future<int> receive_async(TensorView tensor, int from_rank,
                          MessageOptions options) {
  return on_runtime(&Runtime::receive_async, std::move(tensor), from_rank,
                    std::move(options));
}

StatusOr<int> receive(TensorView tensor, int from_rank,
                      MessageOptions options) {
  return waited(&Runtime::receive_async, std::move(tensor), from_rank,
                std::move(options));
}

Status barrier(const ProcessSet& set) {
  HVD_ASSIGN_OR_RETURN(const auto runtime, find_runtime());
  return runtime->barrier(set);
}

Future<int> join_async(const ProcessSet& set) {
  return on_runtime(&Runtime::join_async, set);
}

StatusOr<int> join(const ProcessSet& set) {
  return waited(&Runtime::join_async, set);
}

StatusOr<ProcessSet> add_process_set(std::vector<int> ranks) {
  return waited(&Runtime::add_process_set_async, std::move(ranks));
}

Status remove_process_set(const ProcessSet& set) {
  return waited(&Runtime::remove_process_set_async, set);
}

StatusOr<ProcessSet> new_process_set(std::vector<int> ranks,
                                     const std::string& key) {
  return waited(&Runtime::new_process_set_async, std::move(ranks), key);
}

Status free_process_set(const ProcessSet& set) {
  return waited(&Runtime::free_process_set_async, set);
}

std::vector<int> process_set_ranks(const ProcessSet& set) {
  return value_or_throw(value_or_throw(find_runtime())->ranks_of(set));
}

int process_set_size(const ProcessSet& set) {
  return static_cast<int>(process_set_ranks(set).size());
}

int process_set_rank(const ProcessSet& set) {
  return value_or_throw(value_or_throw(find_runtime())->rank_in(set));
}

bool process_set_included(const ProcessSet& set) {
  const auto runtime = value_or_throw(find_runtime());
  const std::vector<int> ranks = value_or_throw(runtime->ranks_of(set));
  return std::binary_search(ranks.begin(), ranks.end(),
                            runtime->topology().rank());
}

}  // namespace hvd
