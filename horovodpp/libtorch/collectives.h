// SPDX-License-Identifier: Apache-2.0
// Collectives that wait for their result and have gradients:
//
//   torch::Tensor all = hvd::libtorch::allgather(features);
//   loss_of(all).backward();             // features.grad(): of all ranks' losses
//
// Gradients are of the mean of the ranks' losses, as in Horovod. Backward
// passes call collectives of their own, so all ranks must take part in the
// same.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/async_collectives.h"
#include "horovodpp/libtorch/job.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

torch::Tensor allreduce(const torch::Tensor& tensor,
                        const ReduceOptions& options = {});
torch::Tensor allgather(const torch::Tensor& tensor,
                        const MoveOptions& options = {});
torch::Tensor broadcast(const torch::Tensor& tensor, int root_rank,
                        const MoveOptions& options = {});
torch::Tensor reducescatter(const torch::Tensor& tensor,
                            const ReduceOptions& options = {});
// The received rows, and the number from each rank.
std::pair<torch::Tensor, torch::Tensor> alltoall(
    const torch::Tensor& tensor, const AlltoallOptions& options = {});

// In-place, without a gradient; see async_collectives.h.
inline torch::Tensor allreduce_(const torch::Tensor& tensor,
                                const ReduceOptions& options = {}) {
  return allreduce_async_(tensor, options).wait();
}
inline torch::Tensor broadcast_(const torch::Tensor& tensor, int root_rank,
                                const MoveOptions& options = {}) {
  return broadcast_async_(tensor, root_rank, options).wait();
}

namespace internal {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

inline std::int64_t number_of(const ProcessSet& set) {
  return static_cast<std::int64_t>(set.handle());
}
inline ProcessSet set_of(AutogradContext* context) {
  return ProcessSet(
      static_cast<hvd_process_set>(context->saved_data["process_set"].toInt()));
}

inline void keep(AutogradContext* context, const ReduceOptions& options) {
  context->saved_data["op"] = static_cast<std::int64_t>(options.op);
  context->saved_data["prescale"] = options.prescale_factor;
  context->saved_data["postscale"] = options.postscale_factor;
  context->saved_data["process_set"] = number_of(options.process_set);
}
inline ReduceOptions kept(AutogradContext* context) {
  ReduceOptions options;
  options.op = static_cast<ReduceOp>(context->saved_data["op"].toInt());
  options.prescale_factor = context->saved_data["prescale"].toDouble();
  options.postscale_factor = context->saved_data["postscale"].toDouble();
  options.process_set = set_of(context);
  return options;
}

inline torch::Tensor mean_of(const torch::Tensor& gradient,
                             const ProcessSet& set) {
  ReduceOptions options;
  options.process_set = set;
  return allreduce(gradient, options);
}

struct Allreduce : torch::autograd::Function<Allreduce> {
  static torch::Tensor forward(AutogradContext* context,
                               const torch::Tensor& tensor,
                               const ReduceOptions& options) {
    keep(context, options);
    return allreduce_async(tensor, options).wait();
  }
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    return {allreduce(gradients[0], kept(context)), torch::Tensor()};
  }
};

struct Allgather : torch::autograd::Function<Allgather> {
  static torch::Tensor forward(AutogradContext* context,
                               const torch::Tensor& tensor,
                               const MoveOptions& options) {
    if (tensor.dim() == 0) {
      refuse(
          "allgather concatenates along the first dimension, and a scalar has "
          "none: use tensor.reshape(1)");
    }
    context->saved_data["rows"] = tensor.size(0);
    context->saved_data["process_set"] = number_of(options.process_set);
    return allgather_async(tensor, options).wait();
  }
  // This rank's rows of the ranks' mean.
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const ProcessSet set = set_of(context);
    const std::int64_t rows = context->saved_data["rows"].toInt();
    const torch::Tensor counts =
        allgather_async(torch::full({1}, rows, torch::kLong), {{}, set}).wait();
    const auto before =
        counts.narrow(0, 0, set.rank()).sum().item<std::int64_t>();
    return {mean_of(gradients[0], set).narrow(0, before, rows),
            torch::Tensor()};
  }
};

struct Broadcast : torch::autograd::Function<Broadcast> {
  static torch::Tensor forward(AutogradContext* context,
                               const torch::Tensor& tensor, int root_rank,
                               const MoveOptions& options) {
    context->saved_data["root"] = static_cast<std::int64_t>(root_rank);
    context->saved_data["process_set"] = number_of(options.process_set);
    return broadcast_async_(tensor.detach().clone(), root_rank, options).wait();
  }
  // The ranks' mean at the root, and zeros elsewhere.
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    torch::Tensor mean = mean_of(gradients[0], set_of(context));
    if (rank() != context->saved_data["root"].toInt()) mean = mean * 0;
    return {mean, torch::Tensor(), torch::Tensor()};
  }
};

struct Reducescatter : torch::autograd::Function<Reducescatter> {
  static torch::Tensor forward(AutogradContext* context,
                               const torch::Tensor& tensor,
                               const ReduceOptions& options) {
    keep(context, options);
    return reducescatter_async(tensor, options).wait();
  }
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const ReduceOptions options = kept(context);
    double factor = options.prescale_factor * options.postscale_factor;
    if (options.op == ReduceOp::kSum) factor *= options.process_set.size();
    return {allgather(gradients[0] * factor, {{}, options.process_set}),
            torch::Tensor()};
  }
};

struct Alltoall : torch::autograd::Function<Alltoall> {
  static variable_list forward(AutogradContext* context,
                               const torch::Tensor& tensor,
                               const AlltoallOptions& options) {
    variable_list results = alltoall_async(tensor, options).wait_all();
    context->mark_non_differentiable({results[1]});
    context->saved_data["rows"] = tensor.size(0);
    context->saved_data["received"] = results[1];
    context->saved_data["process_set"] = number_of(options.process_set);
    return results;
  }
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const torch::Tensor received = context->saved_data["received"].toTensor();
    const auto* first = received.data_ptr<std::int64_t>();
    torch::Tensor gradient =
        alltoall(gradients[0],
                 {{}, {first, first + received.numel()}, set_of(context)})
            .first;
    // Rows beyond the splits were not sent.
    const std::int64_t unsent =
        context->saved_data["rows"].toInt() - gradient.size(0);
    if (unsent > 0) {
      std::vector<std::int64_t> shape = gradient.sizes().vec();
      shape[0] = unsent;
      gradient = torch::cat({gradient, gradient.new_zeros(shape)});
    }
    return {gradient, torch::Tensor()};
  }
};

}  // namespace internal

inline torch::Tensor allreduce(const torch::Tensor& tensor,
                               const ReduceOptions& options) {
  return internal::Allreduce::apply(tensor, options);
}
inline torch::Tensor allgather(const torch::Tensor& tensor,
                               const MoveOptions& options) {
  return internal::Allgather::apply(tensor, options);
}
inline torch::Tensor broadcast(const torch::Tensor& tensor, int root_rank,
                               const MoveOptions& options) {
  return internal::Broadcast::apply(tensor, root_rank, options);
}
inline torch::Tensor reducescatter(const torch::Tensor& tensor,
                                   const ReduceOptions& options) {
  return internal::Reducescatter::apply(tensor, options);
}
inline std::pair<torch::Tensor, torch::Tensor> alltoall(
    const torch::Tensor& tensor, const AlltoallOptions& options) {
  const auto results = internal::Alltoall::apply(tensor, options);
  return {results[0], results[1]};
}

}  // namespace libtorch
}  // namespace hvd
