// SPDX-License-Identifier: Apache-2.0
// The change of one parameter by a rank's step, and its reduction in each step.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <memory>
#include <string>
#include <utility>

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/error.h"
#include "horovodpp/libtorch/gradient_hook.h"
#include "horovodpp/libtorch/tensors.h"
#include "horovodpp/libtorch/wrapped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

class ParameterDelta {
 public:
  ParameterDelta(std::string key, torch::Tensor parameter)
      : key_(std::move(key)), parameter_(std::move(parameter)) {}

  const std::string& key() const { return key_; }
  bool takes_part() const { return parameter_.requires_grad(); }
  bool is_sent() const { return start_.defined(); }

  bool is_watched() const { return hook_ != nullptr; }
  void watch(GradientCallbacks callbacks) {
    hook_ = std::make_unique<GradientHook>(parameter_, std::move(callbacks));
  }

  // Takes the step, and starts to reduce the change.
  void send(const WrappedOptimizer& optimizer, hvd_reducer reducer) {
    const torch::NoGradGuard no_grad;
    torch::Tensor& gradient = parameter_.mutable_grad();
    if (!gradient.defined()) gradient = torch::zeros_like(parameter_);
    if (gradient.is_sparse()) {
      refuse("the gradient of '" + key_ +
             "' is sparse: use a DistributedOptimizer");
    }
    const torch::Tensor start = parameter_.detach().clone();
    optimizer.step_of(parameter_);
    start_ = start;
    wire_ = readied(parameter_.detach() - start);
    const hvd_tensor in_words = described(wire_);
    throw_if_error(hvd_reducer_add(reducer, key_.c_str(), &in_words));
  }

  // After the reducer has finished: sets the parameter to its old value plus
  // the reduced change.
  void complete() {
    if (!is_sent()) return;
    const torch::NoGradGuard no_grad;
    parameter_.copy_(start_ + wire_.to(parameter_.device()));
    reset();
  }

  // After a failure: restores the old value.
  void take_back() {
    if (!is_sent()) return;
    const torch::NoGradGuard no_grad;
    parameter_.copy_(start_);
    reset();
  }

 private:
  void reset() {
    start_ = torch::Tensor();
    wire_ = torch::Tensor();
  }

  const std::string key_;
  torch::Tensor parameter_;
  std::unique_ptr<GradientHook> hook_;
  torch::Tensor start_;  // Undefined: there was no step.
  torch::Tensor wire_;
};

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
