// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/global_collectives.h"

#include <algorithm>
#include <memory>

#include "horovodpp/core/promise.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/waits_at_once.h"

namespace hvd {
namespace {

// Calls `submit` with the current runtime; without one, the future has that
// error.
template <typename T, typename F>
Future<T> with_runtime(F&& submit) {
  auto runtime = find_runtime();
  if (!runtime.ok()) return Future<T>::ready(runtime.status());
  return submit(**runtime);
}

}  // namespace

Future<void> allreduce_async_(TensorView tensor, AllreduceOptions options) {
  return with_runtime<void>([&](Runtime& runtime) {
    return runtime.allreduce_async_(std::move(tensor), std::move(options));
  });
}

Status allreduce_(TensorView tensor, AllreduceOptions options) {
  HVD_ASSIGN_OR_RETURN(const auto runtime, find_runtime());
  return runtime->allreduce_(std::move(tensor), std::move(options));
}

Future<Buffer> allreduce_async(ConstTensorView tensor,
                               AllreduceOptions options) {
  return with_runtime<Buffer>([&](Runtime& runtime) {
    return runtime.allreduce_async(std::move(tensor), std::move(options));
  });
}

StatusOr<Buffer> allreduce(ConstTensorView tensor, AllreduceOptions options) {
  const WaitsAtOnce at_once;
  return allreduce_async(std::move(tensor), std::move(options)).wait();
}

Future<void> grouped_allreduce_async_(TensorViews tensors,
                                      AllreduceOptions options) {
  return with_runtime<void>([&](Runtime& runtime) {
    return runtime.grouped_allreduce_async_(std::move(tensors),
                                            std::move(options));
  });
}

Status grouped_allreduce_(TensorViews tensors, AllreduceOptions options) {
  const WaitsAtOnce at_once;
  return grouped_allreduce_async_(std::move(tensors), std::move(options))
      .wait();
}

Future<Buffers> grouped_allreduce_async(const ConstTensorViews& tensors,
                                        AllreduceOptions options) {
  return with_runtime<Buffers>([&](Runtime& runtime) {
    return runtime.grouped_allreduce_async(tensors, std::move(options));
  });
}

StatusOr<Buffers> grouped_allreduce(const ConstTensorViews& tensors,
                                    AllreduceOptions options) {
  const WaitsAtOnce at_once;
  return grouped_allreduce_async(tensors, std::move(options)).wait();
}

Future<Buffer> allgather_async(ConstTensorView tensor,
                               AllgatherOptions options) {
  return with_runtime<Buffer>([&](Runtime& runtime) {
    return runtime.allgather_async(std::move(tensor), std::move(options));
  });
}

StatusOr<Buffer> allgather(ConstTensorView tensor, AllgatherOptions options) {
  const WaitsAtOnce at_once;
  return allgather_async(std::move(tensor), std::move(options)).wait();
}

Future<void> allgather_into_async(ConstTensorView tensor, TensorView result,
                                  AllgatherOptions options) {
  return with_runtime<void>([&](Runtime& runtime) {
    return runtime.allgather_into_async(std::move(tensor), std::move(result),
                                        std::move(options));
  });
}

Status allgather_into(ConstTensorView tensor, TensorView result,
                      AllgatherOptions options) {
  const WaitsAtOnce at_once;
  return allgather_into_async(std::move(tensor), std::move(result),
                              std::move(options))
      .wait();
}

Future<Buffers> grouped_allgather_async(const ConstTensorViews& tensors,
                                        AllgatherOptions options) {
  return with_runtime<Buffers>([&](Runtime& runtime) {
    return runtime.grouped_allgather_async(tensors, std::move(options));
  });
}

StatusOr<Buffers> grouped_allgather(const ConstTensorViews& tensors,
                                    AllgatherOptions options) {
  const WaitsAtOnce at_once;
  return grouped_allgather_async(tensors, std::move(options)).wait();
}

Future<void> broadcast_async_(TensorView tensor, int root_rank,
                              BroadcastOptions options) {
  return with_runtime<void>([&](Runtime& runtime) {
    return runtime.broadcast_async_(std::move(tensor), root_rank,
                                    std::move(options));
  });
}

Status broadcast_(TensorView tensor, int root_rank, BroadcastOptions options) {
  const WaitsAtOnce at_once;
  return broadcast_async_(std::move(tensor), root_rank, std::move(options))
      .wait();
}

Future<Buffer> broadcast_async(ConstTensorView tensor, int root_rank,
                               BroadcastOptions options) {
  return with_runtime<Buffer>([&](Runtime& runtime) {
    return runtime.broadcast_async(std::move(tensor), root_rank,
                                   std::move(options));
  });
}

StatusOr<Buffer> broadcast(ConstTensorView tensor, int root_rank,
                           BroadcastOptions options) {
  const WaitsAtOnce at_once;
  return broadcast_async(std::move(tensor), root_rank, std::move(options))
      .wait();
}

Future<AlltoallResult> alltoall_async(ConstTensorView tensor,
                                      AlltoallOptions options) {
  return with_runtime<AlltoallResult>([&](Runtime& runtime) {
    return runtime.alltoall_async(std::move(tensor), std::move(options));
  });
}

StatusOr<AlltoallResult> alltoall(ConstTensorView tensor,
                                  AlltoallOptions options) {
  const WaitsAtOnce at_once;
  return alltoall_async(std::move(tensor), std::move(options)).wait();
}

Future<std::vector<std::int64_t>> alltoall_into_async(ConstTensorView tensor,
                                                      TensorView result,
                                                      AlltoallOptions options) {
  return with_runtime<std::vector<std::int64_t>>([&](Runtime& runtime) {
    return runtime.alltoall_into_async(std::move(tensor), std::move(result),
                                       std::move(options));
  });
}

StatusOr<std::vector<std::int64_t>> alltoall_into(ConstTensorView tensor,
                                                  TensorView result,
                                                  AlltoallOptions options) {
  const WaitsAtOnce at_once;
  return alltoall_into_async(std::move(tensor), std::move(result),
                             std::move(options))
      .wait();
}

Future<Buffer> reducescatter_async(ConstTensorView tensor,
                                   ReducescatterOptions options) {
  return with_runtime<Buffer>([&](Runtime& runtime) {
    return runtime.reducescatter_async(std::move(tensor), std::move(options));
  });
}

StatusOr<Buffer> reducescatter(ConstTensorView tensor,
                               ReducescatterOptions options) {
  const WaitsAtOnce at_once;
  return reducescatter_async(std::move(tensor), std::move(options)).wait();
}

Future<void> reducescatter_into_async(ConstTensorView tensor, TensorView result,
                                      ReducescatterOptions options) {
  return with_runtime<void>([&](Runtime& runtime) {
    return runtime.reducescatter_into_async(
        std::move(tensor), std::move(result), std::move(options));
  });
}

Status reducescatter_into(ConstTensorView tensor, TensorView result,
                          ReducescatterOptions options) {
  const WaitsAtOnce at_once;
  return reducescatter_into_async(std::move(tensor), std::move(result),
                                  std::move(options))
      .wait();
}

Future<Buffers> grouped_reducescatter_async(const ConstTensorViews& tensors,
                                            ReducescatterOptions options) {
  return with_runtime<Buffers>([&](Runtime& runtime) {
    return runtime.grouped_reducescatter_async(tensors, std::move(options));
  });
}

StatusOr<Buffers> grouped_reducescatter(const ConstTensorViews& tensors,
                                        ReducescatterOptions options) {
  const WaitsAtOnce at_once;
  return grouped_reducescatter_async(tensors, std::move(options)).wait();
}

Status barrier(const ProcessSet& set) {
  HVD_ASSIGN_OR_RETURN(const auto runtime, find_runtime());
  return runtime->barrier(set);
}

Future<int> join_async(const ProcessSet& set) {
  return with_runtime<int>(
      [&](Runtime& runtime) { return runtime.join_async(set); });
}

StatusOr<int> join(const ProcessSet& set) {
  const WaitsAtOnce at_once;
  return join_async(set).wait();
}

StatusOr<ProcessSet> add_process_set(std::vector<int> ranks) {
  const WaitsAtOnce at_once;
  return with_runtime<ProcessSet>([&](Runtime& runtime) {
           return runtime.add_process_set_async(std::move(ranks));
         })
      .wait();
}

Status remove_process_set(const ProcessSet& set) {
  const WaitsAtOnce at_once;
  return with_runtime<void>([&](Runtime& runtime) {
           return runtime.remove_process_set_async(set);
         })
      .wait();
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
