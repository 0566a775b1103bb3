// SPDX-License-Identifier: Apache-2.0
// Collectives on tensors, as differentiable operations:
//
//   hvd::Tensor mean = hvd::allreduce(scores, {.name = "scores"});
//   hvd::Tensor all = hvd::allgather(features, {.name = "features"});
//   loss(mean, all).backward();          // whose gradients are collectives, too
//
//   hvd::Future<void> done = hvd::allreduce_async_(w, {.name = "w"});
//   ...                                  // meanwhile other things
//   hvd::throw_if_error(done.wait());
//
// See runtime/runtime.h for semantics, names, options and errors. These
// functions use the current job (runtime/global.h), as the functions on memory
// in runtime/global_collectives.h do.
//
// Memory: a tensor is kept alive until its collective has ended, so its future
// may be dropped without a wait. Any layout works: non-contiguous tensors are
// copied and, by in-place collectives, copied back. Do not write a tensor while
// it is sent, nor read a tensor while it is replaced in-place.
//
// Functions that end in _ are in-place operations like any other. A leaf that
// requires grad is refused unless under NoGrad, the version rises, and
// gradients flow through. A call that fails while it is waited for leaves the
// graph unchanged.
//
// Gradients of any order are Horovod's, for a loss that is the mean of the
// ranks' losses:
//   allreduce      the allreduce of the gradients, with the same options; only
//                  sums and averages have gradients
//   allgather      this rank's rows of the gradients' average
//   broadcast      the gradients' average on the root, zeros elsewhere
//   alltoall       the alltoall that sends each gradient back
//   reducescatter  the allgather of the gradients, with its factors, and times
//                  the number of ranks if it summed
// So the backward of a collective is a collective of the same job, named
// "<name>.gradient". Every rank of the process set runs it, or none does. A
// group is a group in backward as well, with zeros for missing gradients;
// in-place collectives run one by one.
//
// In a checkpointed function a collective runs once: the region keeps its
// result, and a recomputation gets a copy.
//
// Errors: an invalid tensor throws at once, InvalidArgument or the error of an
// in-place operation. The collective's error is in the future, or thrown as
// hvd::Error by functions that wait.
//
// As thread-safe as tensors.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/thread/future.h"
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
  // The received rows, in the order of their ranks.
  Tensor tensor = {};
  // The number of rows from each rank.
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
