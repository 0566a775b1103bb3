// SPDX-License-Identifier: Apache-2.0
// The collectives of the current Runtime (see global.h), as functions:
//
//   hvd::throw_if_error(hvd::allreduce_(grad, {.name = "fc1.weight"}));
//   auto rows = hvd::allgather_async(mine, {.name = "rows"});
//   hvd::StatusOr<hvd::Buffer> all = hvd::synchronize(rows);
//
// See runtime.h for their semantics and errors. Without a job they fail with
// FailedPrecondition. Functions without _async wait for the outcome.
//
// Thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/settings/options.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace HVD_EXPORT hvd {

using TensorViews = std::vector<TensorView>;
using ConstTensorViews = std::vector<ConstTensorView>;
using Buffers = std::vector<Buffer>;

Future<void> allreduce_async_(TensorView tensor, AllreduceOptions options = {});
Future<Buffer> allreduce_async(ConstTensorView tensor,
                               AllreduceOptions options = {});
Status allreduce_(TensorView tensor, AllreduceOptions options = {});
StatusOr<Buffer> allreduce(ConstTensorView tensor,
                           AllreduceOptions options = {});

Future<void> grouped_allreduce_async_(TensorViews tensors,
                                      AllreduceOptions options = {});
Future<Buffers> grouped_allreduce_async(const ConstTensorViews& tensors,
                                        AllreduceOptions options = {});
Status grouped_allreduce_(TensorViews tensors, AllreduceOptions options = {});
StatusOr<Buffers> grouped_allreduce(const ConstTensorViews& tensors,
                                    AllreduceOptions options = {});

Future<Buffer> allgather_async(ConstTensorView tensor,
                               AllgatherOptions options = {});
StatusOr<Buffer> allgather(ConstTensorView tensor,
                           AllgatherOptions options = {});

// The three *_into functions write into `result`; see runtime.h.
Future<void> allgather_into_async(ConstTensorView tensor, TensorView result,
                                  AllgatherOptions options = {});
Status allgather_into(ConstTensorView tensor, TensorView result,
                      AllgatherOptions options = {});

Future<Buffers> grouped_allgather_async(const ConstTensorViews& tensors,
                                        AllgatherOptions options = {});
StatusOr<Buffers> grouped_allgather(const ConstTensorViews& tensors,
                                    AllgatherOptions options = {});

Future<void> broadcast_async_(TensorView tensor, int root_rank,
                              BroadcastOptions options = {});
Future<Buffer> broadcast_async(ConstTensorView tensor, int root_rank,
                               BroadcastOptions options = {});
Status broadcast_(TensorView tensor, int root_rank,
                  BroadcastOptions options = {});
StatusOr<Buffer> broadcast(ConstTensorView tensor, int root_rank,
                           BroadcastOptions options = {});

Future<AlltoallResult> alltoall_async(ConstTensorView tensor,
                                      AlltoallOptions options = {});
StatusOr<AlltoallResult> alltoall(ConstTensorView tensor,
                                  AlltoallOptions options = {});

// Returns the number of rows received from each rank.
Future<std::vector<std::int64_t>> alltoall_into_async(
    ConstTensorView tensor, TensorView result, AlltoallOptions options = {});
StatusOr<std::vector<std::int64_t>> alltoall_into(ConstTensorView tensor,
                                                  TensorView result,
                                                  AlltoallOptions options = {});

Future<Buffer> reducescatter_async(ConstTensorView tensor,
                                   ReducescatterOptions options = {});
StatusOr<Buffer> reducescatter(ConstTensorView tensor,
                               ReducescatterOptions options = {});

Future<void> reducescatter_into_async(ConstTensorView tensor, TensorView result,
                                      ReducescatterOptions options = {});
Status reducescatter_into(ConstTensorView tensor, TensorView result,
                          ReducescatterOptions options = {});

Future<Buffers> grouped_reducescatter_async(const ConstTensorViews& tensors,
                                            ReducescatterOptions options = {});
StatusOr<Buffers> grouped_reducescatter(const ConstTensorViews& tensors,
                                        ReducescatterOptions options = {});

// For rank `root_rank`, or from it; the other ranks get nothing, or send nothing.
Future<void> reduce_async_(TensorView tensor, int root_rank,
                           ReduceOptions options = {});
Future<Buffer> reduce_async(ConstTensorView tensor, int root_rank,
                            ReduceOptions options = {});
Status reduce_(TensorView tensor, int root_rank, ReduceOptions options = {});
StatusOr<Buffer> reduce(ConstTensorView tensor, int root_rank,
                        ReduceOptions options = {});
Future<Buffer> gather_async(ConstTensorView tensor, int root_rank,
                            GatherOptions options = {});
StatusOr<Buffer> gather(ConstTensorView tensor, int root_rank,
                        GatherOptions options = {});
Future<Buffer> scatter_async(ConstTensorView tensor, int root_rank,
                             ScatterOptions options = {});
StatusOr<Buffer> scatter(ConstTensorView tensor, int root_rank,
                         ScatterOptions options = {});

// Messages between two ranks; a receive returns the rank that has sent.
Future<void> send_async(ConstTensorView tensor, int to_rank,
                        MessageOptions options = {});
Status send(ConstTensorView tensor, int to_rank, MessageOptions options = {});
Future<int> receive_async(TensorView tensor, int from_rank,
                          MessageOptions options = {});
StatusOr<int> receive(TensorView tensor, int from_rank,
                      MessageOptions options = {});

// Returns when every rank of the set has called it.
Status barrier(const ProcessSet& set = ProcessSet::global());

// Ready when every rank of the set has joined; its value is the rank that
// joined last.
Future<int> join_async(const ProcessSet& set = ProcessSet::global());
StatusOr<int> join(const ProcessSet& set = ProcessSet::global());

// Every rank of the job calls these two, whether or not it is a member.
StatusOr<ProcessSet> add_process_set(std::vector<int> ranks);
Status remove_process_set(const ProcessSet& set);
// The members of the set alone call these two; `key` tells apart sets of the
// same ranks.
StatusOr<ProcessSet> new_process_set(std::vector<int> ranks,
                                     const std::string& key);
Status free_process_set(const ProcessSet& set);

// Properties of a process set: its members in ascending order; their number;
// this rank's position among them; whether this rank is a member.
//   hvd::Error  there is no job or no such set; or, for the position, this rank
//               is not in the set
std::vector<int> process_set_ranks(const ProcessSet& set);
int process_set_size(const ProcessSet& set);
int process_set_rank(const ProcessSet& set);
bool process_set_included(const ProcessSet& set);

// Whether an operation is done, and its outcome, under Horovod's names.
template <typename T>
bool poll(const Future<T>& operation) {
  return operation.poll();
}
template <typename T>
Outcome<T> synchronize(const Future<T>& operation) {
  return operation.wait();
}

}  // namespace hvd
