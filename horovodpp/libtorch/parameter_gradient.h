// SPDX-License-Identifier: Apache-2.0
// The gradient of one parameter during the steps: it gets contributions, is
// sent, and becomes the reduced gradient.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/async_collectives.h"
#include "horovodpp/libtorch/distributed_options.h"
#include "horovodpp/libtorch/error.h"
#include "horovodpp/libtorch/gradient_home.h"
#include "horovodpp/libtorch/gradient_hook.h"
#include "horovodpp/libtorch/tensors.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

class ParameterGradient {
 public:
  ParameterGradient(std::string key, torch::Tensor parameter)
      : key_(std::move(key)), parameter_(std::move(parameter)) {}

  const std::string& key() const { return key_; }
  const torch::Tensor& parameter() const { return parameter_; }
  bool is_sent() const { return sent_.defined(); }

  bool is_watched() const { return hook_ != nullptr; }
  void watch(GradientCallbacks callbacks) {
    hook_ = std::make_unique<GradientHook>(parameter_, std::move(callbacks));
  }

  // A contribution is about to come.
  void expect() { is_expected_ = !parameter_.grad().defined(); }

  // It has come: moves a newly allocated gradient to the arena.
  void take_in() {
    if (!std::exchange(is_expected_, false)) return;
    const torch::Tensor& gradient = parameter_.grad();
    if (!gradient.defined() || !gradient.device().is_cpu() ||
        !lies_ready(gradient) || !parameter_.is_contiguous() ||
        gradient.numel() == 0) {
      return;
    }
    const torch::NoGradGuard no_grad;
    parameter_.mutable_grad() = home_.take_in(gradient);
  }

  // Starts to reduce it. A parameter without a gradient contributes zeros.
  void send(hvd_reducer reducer, const DistributedOptions& options) {
    const torch::NoGradGuard no_grad;
    // A gradient that zero_grad() has emptied has lost its number of sparse
    // dimensions.
    const bool is_emptied = sparse_dims_ > 0 && parameter_.grad().defined() &&
                            parameter_.grad().is_sparse() &&
                            parameter_.grad()._nnz() == 0;
    if (!parameter_.grad().defined() || is_emptied) make_zeros();
    sent_ = parameter_.grad();
    version_ = sent_.is_inference() ? 0 : sent_._version();
    if (sent_.is_sparse()) sparse_dims_ = sent_.sparse_dim();
    if (sent_.is_sparse() && !options.sparse_as_dense) {
      gather_rows(options);
      return;
    }
    wire_ = readied(sent_.is_sparse() ? sent_.to_dense() : sent_);
    const hvd_tensor in_words = described(wire_);
    throw_if_error(hvd_reducer_add(reducer, key_.c_str(), &in_words));
  }

  // Whether it was written to, or replaced, since it was sent.
  bool has_changed() const {
    const torch::Tensor& now = parameter_.grad();
    return !now.is_same(sent_) ||
           (!now.is_inference() && now._version() != version_);
  }

  // After the reducer has finished: the result becomes the parameter's
  // gradient.
  void complete(const DistributedOptions& options) {
    const torch::NoGradGuard no_grad;
    if (values_.has_value()) {
      parameter_.mutable_grad() = gathered(options);
    } else if (sent_.is_sparse()) {
      parameter_.mutable_grad() = wire_.to_sparse(sparse_dims_);
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
    torch::Tensor& gradient = parameter_.mutable_grad();
    if (sparse_dims_ == 0) {
      gradient = torch::zeros_like(parameter_, torch::MemoryFormat::Contiguous);
      return;
    }
    std::vector<std::int64_t> no_values = parameter_.sizes().vec();
    no_values.erase(no_values.begin(), no_values.begin() + sparse_dims_);
    no_values.insert(no_values.begin(), 0);
    gradient = torch::sparse_coo_tensor(
        torch::empty({sparse_dims_, 0}, torch::kLong),
        torch::empty(no_values, parameter_.options()), parameter_.sizes());
  }

  // The values use the name of a dense gradient, so that ranks with gradients
  // of different kinds get an error.
  void gather_rows(const DistributedOptions& options) {
    const torch::Tensor rows = sent_.coalesce();
    const std::string name = options.name + "." + key_;
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
    return torch::sparse_coo_tensor(indices, values, parameter_.sizes())
        .to(parameter_.device())
        .coalesce();
  }

  const std::string key_;
  const torch::Tensor parameter_;
  std::unique_ptr<GradientHook> hook_;
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
