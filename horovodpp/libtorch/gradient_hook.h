// SPDX-License-Identifier: Apache-2.0
// A GradientHook calls back when a parameter's gradient gets a contribution:
// before it is added to the gradient, and after. In a backward pass that
// happens once, however often the parameter is used, also in checkpoint()s.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/torch_version.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

// Emptied when the hook ends.
struct GradientCallbacks {
  std::function<void()> before;
  std::function<void()> after;
};

#if HVD_TORCH_AT_LEAST(2, 1)

// A parameter has room for one such hook, so each also calls the hook that it
// has replaced.
class AfterAccumulation final : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit AfterAccumulation(std::shared_ptr<GradientCallbacks> callbacks)
      : callbacks_(std::move(callbacks)) {}

  void operator()(const torch::Tensor& parameter) override {
    if (next_ != nullptr) (*next_)(parameter);
    if (callbacks_->after) callbacks_->after();
  }

  static AfterAccumulation* add(const torch::Tensor& parameter,
                                std::shared_ptr<GradientCallbacks> callbacks) {
    auto hook = std::make_unique<AfterAccumulation>(std::move(callbacks));
    AfterAccumulation* const added = hook.get();
    added->next_ =
        std::move(torch::autograd::impl::post_acc_grad_hooks(parameter));
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::move(hook));
    return added;
  }

  // A hook that others were stacked upon stays, and calls nothing.
  static void remove(const torch::Tensor& parameter, AfterAccumulation* hook) {
    auto& first = torch::autograd::impl::post_acc_grad_hooks(parameter);
    if (first.get() != hook) return;
    auto next = std::move(hook->next_);
    first = std::move(next);
  }

 private:
  const std::shared_ptr<GradientCallbacks> callbacks_;
  std::unique_ptr<torch::autograd::PostAccumulateGradHook> next_;
};

// The registration of a hook.
class AfterGradient {
 public:
  AfterGradient(const torch::Tensor& parameter,
                std::shared_ptr<GradientCallbacks> callbacks)
      : hook_(AfterAccumulation::add(parameter, std::move(callbacks))) {}
  void remove(const torch::Tensor& parameter) {
    AfterAccumulation::remove(parameter, hook_);
  }

 private:
  AfterAccumulation* const hook_;
};

#else

class AfterAccumulation final : public torch::autograd::FunctionPostHook {
 public:
  explicit AfterAccumulation(std::shared_ptr<GradientCallbacks> callbacks)
      : callbacks_(std::move(callbacks)) {}

  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& outputs,
      const torch::autograd::variable_list&) override {
    if (callbacks_->after) callbacks_->after();
    return outputs;
  }

 private:
  const std::shared_ptr<GradientCallbacks> callbacks_;
};

class AfterGradient {
 public:
  AfterGradient(const torch::Tensor& parameter,
                std::shared_ptr<GradientCallbacks> callbacks)
      : accumulator_(torch::autograd::impl::grad_accumulator(parameter)),
        key_(accumulator_->add_post_hook(
            std::make_unique<AfterAccumulation>(std::move(callbacks)))) {}
  void remove(const torch::Tensor&) { accumulator_->del_post_hook(key_); }

 private:
  // The parameter itself does not keep it alive.
  const std::shared_ptr<torch::autograd::Node> accumulator_;
  const std::uintptr_t key_;
};

#endif

// Active as long as it lives. A callback may throw, which ends the backward
// pass.
class GradientHook {
 public:
  GradientHook(torch::Tensor parameter, GradientCallbacks callbacks)
      : parameter_(std::move(parameter)),
        callbacks_(std::make_shared<GradientCallbacks>(std::move(callbacks))),
        after_(parameter_, callbacks_),
        before_(parameter_.register_hook(
            [callbacks = callbacks_](const torch::Tensor&) {
              if (callbacks->before) callbacks->before();
            })) {}
  // If all of the parameter's hooks were removed before, that is no error.
  ~GradientHook() {
    *callbacks_ = {};
    try {
      parameter_.remove_hook(before_);
    } catch (...) {
    }
    try {
      after_.remove(parameter_);
    } catch (...) {
    }
  }
  GradientHook(const GradientHook&) = delete;
  GradientHook& operator=(const GradientHook&) = delete;

 private:
  const torch::Tensor parameter_;
  const std::shared_ptr<GradientCallbacks> callbacks_;
  AfterGradient after_;
  const unsigned before_;
};

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
