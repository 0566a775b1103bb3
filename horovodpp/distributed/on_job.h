// SPDX-License-Identifier: Apache-2.0
// Collectives on tensors of a given job, for the public collectives and for
// gradients. Several tensors are a group.
#pragma once

#include <vector>

#include "horovodpp/core/thread/future.h"
#include "horovodpp/distributed/job.h"
#include "horovodpp/distributed/memory.h"
#include "horovodpp/runtime/settings/options.h"

namespace hvd::distributed {

Future<Tensors> allreduce_on(const Job& job, const Tensors& tensors,
                             AllreduceOptions options);
Future<Tensors> allgather_on(const Job& job, const Tensors& tensors,
                             AllgatherOptions options);
Future<Tensors> broadcast_on(const Job& job, const Tensor& tensor,
                             int root_rank, BroadcastOptions options);
// The received tensor, and the number of rows from each rank, int64.
Future<Tensors> alltoall_on(const Job& job, const Tensor& tensor,
                            AlltoallOptions options);
Future<Tensors> reducescatter_on(const Job& job, const Tensors& tensors,
                                 ReducescatterOptions options);

}  // namespace hvd::distributed
