// SPDX-License-Identifier: Apache-2.0
// Collectives on tensors, as operations of the graph:
//
//   hvd::Tensor mean = hvd::allreduce(scores, {.name = "scores"});
//   hvd::Tensor all = hvd::allgather(features, {.name = "features"});
//   loss(mean, all).backward();          // whose gradients are collectives, too
//
//   hvd::Future<void> done = hvd::allreduce_async_(w, {.name = "w"});
//   ...                                  // meanwhile other things
//   hvd::throw_if_error(done.wait());
//
// What ranks send and receive, names, options, and how a collective fails are
// told in runtime/runtime.h; these are of the current job (runtime/global.h), as
// those on memory in runtime/global_collectives.h are.
//
// Memory: a tensor is kept alive until its collective has ended, so that its
// future may be dropped without a wait. Any layout will do: what is not contiguous
// is copied and, by those in place, copied back. Nobody writes a tensor while it
// is sent, nor reads one that is written in place.
//
// Those in place (_) are writes in place like any other: a leaf that requires
// grad is refused unless under NoGrad, the version rises, and gradients pass.
// Those that fail while they are waited for leave the graph as it was.
//
// Gradients, as often as one likes, are Horovod's, for which the loss is the mean
// of the ranks' losses:
//   allreduce      the allreduce of the gradients, with the same options; ops
//                  that neither sum nor average have none
//   allgather      this rank's rows of the gradients' average
//   broadcast      the gradients' average on the root, zeros elsewhere
//   alltoall       the alltoall that sends each gradient back
//   reducescatter  the allgather of the gradients, with its factors, and times
//                  the number of ranks if it summed
// So a backward through a collective is a collective, of the same job, named
// "<name>.gradient": every rank of the process set runs it, or none does. A group
// is one in backward as well, with zeros for what has no gradient; those in place
// go one by one.
//
// In a checkpointed function a collective runs once: the region keeps its result,
// and a recomputation gets a copy of that.
//
// Errors: what is wrong with a tensor is thrown at once, InvalidArgument or what a
// write in place throws. How the collective ended is told by the future, or thrown
// as hvd::Error where there is none.
//
// Thread-safe as tensors are.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/future.h"
#include "horovodpp/runtime/settings/options.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

Tensor allreduce(const Tensor& tensor, AllreduceOptions options = {});
Future<Tensor> allreduce_async(const Tensor& tensor,
                               AllreduceOptions options = {});
// Returns `tensor`.
const Tensor& allreduce_(const Tensor& tensor, AllreduceOptions options = {});
Future<void> allreduce_async_(const Tensor& tensor,
                              AllreduceOptions options = {});

std::vector<Tensor> grouped_allreduce(const std::vector<Tensor>& tensors,
                                      AllreduceOptions options = {});
Future<std::vector<Tensor>> grouped_allreduce_async(
    const std::vector<Tensor>& tensors, AllreduceOptions options = {});
void grouped_allreduce_(const std::vector<Tensor>& tensors,
                        AllreduceOptions options = {});
Future<void> grouped_allreduce_async_(const std::vector<Tensor>& tensors,
                                      AllreduceOptions options = {});

Tensor allgather(const Tensor& tensor, AllgatherOptions options = {});
Future<Tensor> allgather_async(const Tensor& tensor,
                               AllgatherOptions options = {});
std::vector<Tensor> grouped_allgather(const std::vector<Tensor>& tensors,
                                      AllgatherOptions options = {});
Future<std::vector<Tensor>> grouped_allgather_async(
    const std::vector<Tensor>& tensors, AllgatherOptions options = {});

// `root_rank` is a rank of the job, also with a process set.
Tensor broadcast(const Tensor& tensor, int root_rank,
                 BroadcastOptions options = {});
Future<Tensor> broadcast_async(const Tensor& tensor, int root_rank,
                               BroadcastOptions options = {});
// Returns `tensor`.
const Tensor& broadcast_(const Tensor& tensor, int root_rank,
                         BroadcastOptions options = {});
Future<void> broadcast_async_(const Tensor& tensor, int root_rank,
                              BroadcastOptions options = {});

struct TensorAlltoallResult {
  // What the ranks sent here, in their order.
  Tensor tensor = {};
  // Rows that came from each of them.
  std::vector<std::int64_t> received_splits = {};
};

TensorAlltoallResult alltoall(const Tensor& tensor,
                              AlltoallOptions options = {});
Future<TensorAlltoallResult> alltoall_async(const Tensor& tensor,
                                            AlltoallOptions options = {});

Tensor reducescatter(const Tensor& tensor, ReducescatterOptions options = {});
Future<Tensor> reducescatter_async(const Tensor& tensor,
                                   ReducescatterOptions options = {});
std::vector<Tensor> grouped_reducescatter(const std::vector<Tensor>& tensors,
                                          ReducescatterOptions options = {});
Future<std::vector<Tensor>> grouped_reducescatter_async(
    const std::vector<Tensor>& tensors, ReducescatterOptions options = {});

}  // namespace hvd
