// SPDX-License-Identifier: Apache-2.0
// The change of one parameter by a rank's step, and its reduction in each step.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/error.h"
#include "horovodpp/libtorch/reduced_parameters.h"
#include "horovodpp/libtorch/reducer.h"
#include "horovodpp/libtorch/tensors.h"
#include "horovodpp/libtorch/wrapped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

class ParameterDelta : public ReducedParameter {
 public:
  static constexpr const char* kIfSurplus = "";
  static constexpr const char* kIfCleared = "";
  using ReducedParameter::ReducedParameter;

  bool is_sent() const { return start_.defined(); }
  // Whether zero_grad() of the module, or other code, has emptied the gradient
  // since.
  bool was_cleared() const {
    const torch::Tensor& now = parameter().grad();
    return is_sent() && (!now.is_same(used_) || now._version() != version_);
  }
  void expect() {}

  // Takes the step, and starts to reduce the change.
  void send(const WrappedOptimizer& optimizer, Reducer& reducer) {
    const torch::NoGradGuard no_grad;
    torch::Tensor& gradient = parameter().mutable_grad();
    if (!gradient.defined()) gradient = torch::zeros_like(parameter());
    if (gradient.is_sparse()) {
      refuse("the gradient of '" + key() +
             "' is sparse: use a DistributedOptimizer");
    }
    const torch::Tensor start = parameter().detach().clone();
    optimizer.step_of(parameter());
    start_ = start;
    used_ = gradient;
    version_ = used_._version();
    wire_ = readied(parameter().detach() - start);
    reducer.add(key(), wire_);
  }

  // After the reducer has finished: sets the parameter to its old value plus
  // the reduced change.
  void complete() {
    if (!is_sent()) return;
    const torch::NoGradGuard no_grad;
    parameter().copy_(start_ + wire_.to(parameter().device()));
    reset();
  }

  // After a failure: restores the old value.
  void take_back() {
    if (!is_sent()) return;
    const torch::NoGradGuard no_grad;
    parameter().copy_(start_);
    reset();
  }

 private:
  void reset() {
    start_ = torch::Tensor();
    wire_ = torch::Tensor();
    used_ = torch::Tensor();
  }

  torch::Tensor start_;  // Undefined: there was no step.
  torch::Tensor wire_;
  torch::Tensor used_;        // The gradient of the step.
  std::int64_t version_ = 0;  // Of `used_`, after the step.
};

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
