// SPDX-License-Identifier: Apache-2.0
// The collectives on tensors, of a job that is named: what the public ones and the
// gradients of one another are made of. Of several tensors a group.
#pragma once

#include <vector>

#include "horovodpp/core/future.h"
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
// The tensor, and the rows that came from each rank, int64.
Future<Tensors> alltoall_on(const Job& job, const Tensor& tensor,
                            AlltoallOptions options);
Future<Tensors> reducescatter_on(const Job& job, const Tensors& tensors,
                                 ReducescatterOptions options);

}  // namespace hvd::distributed
