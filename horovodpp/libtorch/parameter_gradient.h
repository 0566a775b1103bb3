// SPDX-License-Identifier: Apache-2.0
// The gradient of one parameter during the steps: it gets contributions, is
// sent, and becomes the reduced gradient.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/async_collectives.h"
#include "horovodpp/libtorch/distributed_options.h"
#include "horovodpp/libtorch/gradient_home.h"
#include "horovodpp/libtorch/reduced_parameters.h"
#include "horovodpp/libtorch/reducer.h"
#include "horovodpp/libtorch/tensors.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

class ParameterGradient : public ReducedParameter {
 public:
  static constexpr const char* kIfSurplus =
      "; if one backward pass computes a gradient in several parts, set "
      "during_backward = false";
  static constexpr const char* kIfCleared = ", or set during_backward = false";
  using ReducedParameter::ReducedParameter;

  bool is_sent() const { return sent_.defined(); }

  // Whether zero_grad() of the module, or other code, has emptied the gradient
  // in flight.
  bool was_cleared() const { return is_sent() && has_changed(); }

  // A contribution is about to come.
  void expect() { is_expected_ = !parameter().grad().defined(); }

  // It has come: moves a newly allocated gradient to the arena.
  void take_in() {
    if (!std::exchange(is_expected_, false)) return;
    const torch::Tensor& gradient = parameter().grad();
    if (!gradient.defined() || !gradient.device().is_cpu() ||
        !lies_ready(gradient) || !parameter().is_contiguous() ||
        gradient.numel() == 0) {
      return;
    }
    const torch::NoGradGuard no_grad;
    parameter().mutable_grad() = home_.take_in(gradient);
  }

  // Starts to reduce it. A parameter without a gradient contributes zeros.
  void send(Reducer& reducer, const DistributedOptions& options) {
    const torch::NoGradGuard no_grad;
    // A gradient that zero_grad() has emptied has lost its number of sparse
    // dimensions.
    const bool is_emptied = sparse_dims_ > 0 && parameter().grad().defined() &&
                            parameter().grad().is_sparse() &&
                            parameter().grad()._nnz() == 0;
    if (!parameter().grad().defined() || is_emptied) make_zeros();
    sent_ = parameter().grad();
    version_ = sent_.is_inference() ? 0 : sent_._version();
    if (sent_.is_sparse()) sparse_dims_ = sent_.sparse_dim();
    if (sent_.is_sparse() && !options.sparse_as_dense) {
      gather_rows(options);
      return;
    }
    wire_ = readied(sent_.is_sparse() ? sent_.to_dense() : sent_);
    reducer.add(key(), wire_);
  }

  // Whether it was written to, or replaced, since it was sent.
  bool has_changed() const {
    const torch::Tensor& now = parameter().grad();
    return !now.is_same(sent_) ||
           (!now.is_inference() && now._version() != version_);
  }

  // After the reducer has finished: the result becomes the parameter's
  // gradient.
  void complete(const DistributedOptions& options) {
    const torch::NoGradGuard no_grad;
    if (values_.has_value()) {
      parameter().mutable_grad() = gathered(options);
    } else if (sent_.is_sparse()) {
      parameter().mutable_grad() = wire_.to_sparse(sparse_dims_);
    } else {
      put_back(sent_, wire_);
    }
  }

  // Ends the step. The reducer does not use its memory any more.
  void reset() {
    indices_.reset();
    values_.reset();
    sent_ = torch::Tensor();
    wire_ = torch::Tensor();
  }

 private:
  // This rank used another part of the model.
  void make_zeros() {
    torch::Tensor& gradient = parameter().mutable_grad();
    if (sparse_dims_ == 0) {
      gradient =
          torch::zeros_like(parameter(), torch::MemoryFormat::Contiguous);
      return;
    }
    std::vector<std::int64_t> no_values = parameter().sizes().vec();
    no_values.erase(no_values.begin(), no_values.begin() + sparse_dims_);
    no_values.insert(no_values.begin(), 0);
    gradient = torch::sparse_coo_tensor(
        torch::empty({sparse_dims_, 0}, torch::kLong),
        torch::empty(no_values, parameter().options()), parameter().sizes());
  }

  // The values use the name of a dense gradient, so that ranks with gradients
  // of different kinds get an error.
  void gather_rows(const DistributedOptions& options) {
    const torch::Tensor rows = sent_.coalesce();
    const std::string name = options.name + "." + key();
    values_ = allgather_async(rows.values(), {name, options.process_set});
    indices_ = allgather_async(rows.indices().t().contiguous(),
                               {name + ".indices", options.process_set});
  }

  torch::Tensor gathered(const DistributedOptions& options) {
    torch::Tensor values = values_->wait();
    const torch::Tensor indices = indices_->wait().t();
    if (options.op == ReduceOp::kAverage) {
      values = values / options.process_set.size();
    }
    return torch::sparse_coo_tensor(indices, values, parameter().sizes())
        .to(parameter().device())
        .coalesce();
  }

  GradientHome home_;
  bool is_expected_ = false;         // It has no memory yet.
  std::int64_t sparse_dims_ = 0;     // Of its sparse gradients, once seen.
  torch::Tensor sent_;               // Undefined: not sent.
  std::int64_t version_ = 0;         // Of `sent_`, when it was sent.
  torch::Tensor wire_;               // The reduced memory: `sent_`, or a copy.
  std::optional<Operation> values_;  // Of a sparse gradient.
  std::optional<Operation> indices_;
};

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
