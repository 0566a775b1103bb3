// SPDX-License-Identifier: Apache-2.0
// Collectives that return at once; see horovodpp/runtime/runtime.h. They have
// no gradients. For collectives that wait and have gradients see collectives.h.
//
// Ranks match collectives by name; unnamed ones are numbered in call order.
// Functions that end in an underscore replace the tensor, which must not be
// used until the operation has ended.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/libtorch/error.h"
#include "horovodpp/libtorch/job.h"
#include "horovodpp/libtorch/operation.h"
#include "horovodpp/libtorch/tensors.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

using hvd::ReduceOp;

// Options of an allreduce and a reducescatter.
struct ReduceOptions {
  std::string name = {};
  ReduceOp op = ReduceOp::kAverage;
  double prescale_factor = 1.0;   // Applied before the reduction.
  double postscale_factor = 1.0;  // Applied after it.
  ProcessSet process_set = {};
};

// Options of an allgather and a broadcast.
struct MoveOptions {
  std::string name = {};
  ProcessSet process_set = {};
};

struct AlltoallOptions {
  std::string name = {};
  // Rows for each rank of the set, in its order; empty: equally many for each.
  std::vector<std::int64_t> splits = {};
  ProcessSet process_set = {};
};

namespace internal {

inline hvd_allreduce_options in_c(const ReduceOptions& options) {
  hvd_allreduce_options result = HVD_ALLREDUCE_OPTIONS;
  result.name = name_or_null(options.name);
  result.op = static_cast<std::int32_t>(options.op);
  result.prescale_factor = options.prescale_factor;
  result.postscale_factor = options.postscale_factor;
  result.process_set = options.process_set.handle();
  return result;
}

inline hvd_collective_options in_c(const MoveOptions& options) {
  hvd_collective_options result = HVD_COLLECTIVE_OPTIONS;
  result.name = name_or_null(options.name);
  result.process_set = options.process_set.handle();
  return result;
}

// Valid as long as `options`.
inline hvd_alltoall_options in_c(const AlltoallOptions& options) {
  hvd_alltoall_options result = HVD_ALLTOALL_OPTIONS;
  result.name = name_or_null(options.name);
  result.process_set = options.process_set.handle();
  result.splits = options.splits.data();
  result.num_splits = options.splits.size();
  return result;
}

// Moves a result to `device`. A result on a GPU is copied, because libtorch's
// streams may use it after its handle is released.
inline torch::Tensor in_place_of(const torch::Tensor& result,
                                 torch::Device device) {
  if (!result.is_cuda()) return result.to(device);
  const torch::Tensor copy = result.clone();
  const c10::impl::VirtualGuardImpl guard(result.device().type());
  guard.getStream(result.device()).synchronize();
  return copy;
}

// Moves results, which are in the operation's memory, to the devices of `like`.
inline Operation::Finish results_like(const std::vector<torch::Tensor>& like) {
  std::vector<torch::Device> devices;
  for (const torch::Tensor& tensor : like) devices.push_back(tensor.device());
  return [devices](const std::shared_ptr<OperationHandle>& handle) {
    std::vector<torch::Tensor> results;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      results.push_back(in_place_of(result_of(handle, i), devices[i]));
    }
    return results;
  };
}

// Starts an operation by `start(tensors, &operation)`, a C function, on `made`,
// whose memory the library can use.
template <typename Start>
hvd_operation started(const std::vector<torch::Tensor>& made,
                      const Start& start) {
  const std::vector<hvd_tensor> tensors = described(made);
  hvd_operation number = 0;
  throw_if_error(start(tensors.data(), &number));
  return number;
}

inline hvd_operation start_allreduce(const std::vector<torch::Tensor>& made,
                                     const ReduceOptions& options) {
  const hvd_allreduce_options in_words = in_c(options);
  return started(made, [&](const hvd_tensor* tensors, hvd_operation* number) {
    return hvd_allreduce_async(tensors, made.size(), &in_words, number);
  });
}

// The same of one tensor, whose result is new.
template <typename Start>
Operation begun(const torch::Tensor& tensor, const Start& start) {
  const torch::Tensor made = readied(tensor);
  return Operation(started({made}, start), {made}, results_like({tensor}));
}

// The same of one tensor, which is replaced.
template <typename Start>
Operation begun_in_place(const torch::Tensor& tensor, const Start& start) {
  const torch::Tensor made = readied(tensor);
  return Operation(started({made}, start), {made}, [tensor, made](const auto&) {
    put_back(tensor, made);
    return std::vector<torch::Tensor>{tensor};
  });
}

inline std::vector<torch::Tensor> all_readied(
    const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> made;
  for (const torch::Tensor& tensor : tensors) made.push_back(readied(tensor));
  return made;
}

}  // namespace internal

// Several tensors are a group: submitted as one, matched by one name.
inline Operation grouped_allreduce_async_(std::vector<torch::Tensor> tensors,
                                          const ReduceOptions& options = {}) {
  std::vector<torch::Tensor> made = internal::all_readied(tensors);
  const hvd_operation number = internal::start_allreduce(made, options);
  return Operation(number, made, [tensors, made](const auto&) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      internal::put_back(tensors[i], made[i]);
    }
    return tensors;
  });
}
inline Operation allreduce_async_(const torch::Tensor& tensor,
                                  const ReduceOptions& options = {}) {
  return grouped_allreduce_async_({tensor}, options);
}

// Returns the results in new tensors.
inline Operation grouped_allreduce_async(
    const std::vector<torch::Tensor>& tensors,
    const ReduceOptions& options = {}) {
  std::vector<torch::Tensor> made;
  std::vector<torch::Device> devices;
  for (const torch::Tensor& tensor : tensors) {
    torch::Tensor copy = internal::readied(tensor);
    if (copy.is_alias_of(tensor)) copy = copy.clone();
    made.push_back(std::move(copy));
    devices.push_back(tensor.device());
  }
  const hvd_operation number = internal::start_allreduce(made, options);
  return Operation(number, made, [made, devices](const auto&) {
    std::vector<torch::Tensor> results;
    for (std::size_t i = 0; i < made.size(); ++i) {
      results.push_back(made[i].to(devices[i]));
    }
    return results;
  });
}
inline Operation allreduce_async(const torch::Tensor& tensor,
                                 const ReduceOptions& options = {}) {
  return grouped_allreduce_async({tensor}, options);
}

// Concatenates the ranks' tensors along the first dimension, in which they may
// differ.
inline Operation allgather_async(const torch::Tensor& tensor,
                                 const MoveOptions& options = {}) {
  const hvd_collective_options in_words = internal::in_c(options);
  return internal::begun(
      tensor, [&](const hvd_tensor* made, hvd_operation* number) {
        return hvd_allgather_async(made, 1, &in_words, number);
      });
}

// Replaces the tensor by that of rank `root_rank` of the job.
inline Operation broadcast_async_(const torch::Tensor& tensor, int root_rank,
                                  const MoveOptions& options = {}) {
  const hvd_collective_options in_words = internal::in_c(options);
  return internal::begun_in_place(
      tensor, [&](const hvd_tensor* made, hvd_operation* number) {
        return hvd_broadcast_async(made, root_rank, &in_words, number);
      });
}

// Reduces, and leaves each rank its part of the rows. Of d rows the r-th of n
// ranks gets d / n, and one more if r < d % n.
inline Operation reducescatter_async(const torch::Tensor& tensor,
                                     const ReduceOptions& options = {}) {
  const hvd_reducescatter_options in_words = internal::in_c(options);
  return internal::begun(
      tensor, [&](const hvd_tensor* made, hvd_operation* number) {
        return hvd_reducescatter_async(made, 1, &in_words, number);
      });
}

// Reduces into the tensor of rank `root_rank` of the job; the others keep theirs.
inline Operation reduce_async_(const torch::Tensor& tensor, int root_rank,
                               const ReduceOptions& options = {}) {
  const hvd_reducescatter_options in_words = internal::in_c(options);
  return internal::begun_in_place(
      tensor, [&](const hvd_tensor* made, hvd_operation* number) {
        return hvd_reduce_async(made, root_rank, &in_words, number);
      });
}

// Concatenates the ranks' tensors for rank `root_rank`; the others get no rows.
inline Operation gather_async(const torch::Tensor& tensor, int root_rank,
                              const MoveOptions& options = {}) {
  const hvd_collective_options in_words = internal::in_c(options);
  return internal::begun(
      tensor, [&](const hvd_tensor* made, hvd_operation* number) {
        return hvd_gather_async(made, root_rank, &in_words, number);
      });
}

// Sends each rank its rows of the tensor of rank `root_rank`: its splits, or
// shares as of a reducescatter. The other tensors may have no rows.
inline Operation scatter_async(const torch::Tensor& tensor, int root_rank,
                               const AlltoallOptions& options = {}) {
  const hvd_alltoall_options in_words = internal::in_c(options);
  return internal::begun(
      tensor, [&](const hvd_tensor* made, hvd_operation* number) {
        return hvd_scatter_async(made, root_rank, &in_words, number);
      });
}

// Sends each rank its rows. The results: the received rows, in the order of
// ranks, and the number from each rank, int64.
inline Operation alltoall_async(const torch::Tensor& tensor,
                                const AlltoallOptions& options = {}) {
  const torch::Tensor made = internal::readied(tensor);
  const hvd_alltoall_options in_words = internal::in_c(options);
  const hvd_operation number = internal::started(
      {made}, [&](const hvd_tensor* tensors, hvd_operation* begun) {
        return hvd_alltoall_async(tensors, &in_words, begun);
      });
  const auto rows = internal::results_like({tensor});
  return Operation(number, {made}, [rows](const auto& handle) {
    std::vector<torch::Tensor> results = rows(handle);
    const std::int64_t* splits = nullptr;
    std::size_t count = 0;
    internal::throw_if_error(
        hvd_received_splits(handle->number(), &splits, &count));
    results.push_back(
        torch::tensor(torch::ArrayRef<std::int64_t>(splits, count)));
    return results;
  });
}

// Returns when every rank of the set has called it.
inline void barrier(const ProcessSet& set = {}) {
  internal::throw_if_error(hvd_barrier(set.handle()));
}

}  // namespace libtorch
}  // namespace hvd
