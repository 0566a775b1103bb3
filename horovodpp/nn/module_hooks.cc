// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/module_hooks.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/record/function.h"
#include "horovodpp/checkpoint/checkpoint.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::nn {
namespace {

// A view of its argument with its own place in the graph. Gradients that arrive
// there come only through this call of the module.
struct ModuleBoundary : autograd::Function<ModuleBoundary> {
  static Tensor forward(autograd::FunctionContext&, const Tensor& x) {
    return x;
  }
  static std::vector<Tensor> backward(autograd::FunctionContext&,
                                      const std::vector<Tensor>& gradients) {
    return gradients;
  }
};

// The shared state of one call's hooks during a backward.
class BackwardCall {
 public:
  BackwardCall(Module& module, const std::shared_ptr<ModuleHooks>& hooks)
      : module_(module), hooks_(hooks) {}

  void set_grad_output(const Tensor& gradient) {
    MutexLock lock(mutex_);
    grad_output_ = gradient;
  }

  // The replacement of grad_input, or undefined.
  Tensor run(const Tensor& grad_input) {
    // The module owns the hooks: while they live, the module lives.
    const std::shared_ptr<ModuleHooks> hooks = hooks_.lock();
    if (hooks == nullptr) return Tensor();
    Tensor grad_output;
    {
      MutexLock lock(mutex_);
      grad_output = std::exchange(grad_output_, Tensor());
    }
    Tensor current = grad_input;
    Tensor replacement;
    hooks->backward.for_each([&](const auto& hook) {
      const Tensor result = hook(module_, current, grad_output);
      if (result.defined()) current = replacement = result;
    });
    return grad_input.defined() ? replacement : Tensor();
  }

 private:
  Module& module_;
  const std::weak_ptr<ModuleHooks> hooks_;
  Mutex mutex_;
  Tensor grad_output_ ABSL_GUARDED_BY(mutex_);
};

// The forward() of a module, for a region to call and recompute.
class ForwardCall {
 public:
  ForwardCall(Module& module, const std::shared_ptr<ModuleHooks>& hooks)
      : module_(module), hooks_(hooks), training_(module.is_training()) {}

  Tensor operator()(const Tensor& input) const {
    // While the hooks live, the module lives.
    if (hooks_.expired()) {
      throw autograd::CheckpointError(
          "a checkpointed module is gone, and backward needs it for the "
          "recomputation; keep it until backward has run");
    }
    if (module_.is_training() != training_) {
      throw autograd::CheckpointError(absl::StrCat(
          "a checkpointed module ran forward ",
          training_ ? "in training" : "in evaluation",
          " and is switched to the other since; call train() or eval() after "
          "backward"));
    }
    return module_.forward(input);
  }

  // For errors: the module's name for `tensor`, or empty.
  std::string name_of(const Tensor& tensor) const {
    if (hooks_.expired()) return "";
    for (const auto& list :
         {module_.named_parameters(), module_.named_buffers()}) {
      for (const auto& [name, named] : list) {
        if (named.is_same(tensor)) return name;
      }
    }
    return "";
  }

 private:
  Module& module_;
  const std::weak_ptr<ModuleHooks> hooks_;
  const bool training_;
};

}  // namespace

Tensor ModuleHooks::forward(const std::shared_ptr<ModuleHooks>& self,
                            const Tensor& input) {
  if (!self->checkpoint) return self->module_.forward(input);
  return hvd::checkpoint(ForwardCall(self->module_, self), input,
                         *self->checkpoint);
}

Tensor ModuleHooks::call(const std::shared_ptr<ModuleHooks>& self,
                         const Tensor& given) {
  Module& module = self->module_;
  Tensor input = given;
  self->before.for_each([&](const auto& hook) {
    const Tensor result = hook(module, input);
    if (result.defined()) input = result;
  });
  const bool watched = !self->backward.empty() && is_grad_enabled();
  const bool has_grad_input =
      watched && input.defined() && input.requires_grad();
  if (has_grad_input) input = ModuleBoundary::apply(input);
  Tensor output = forward(self, input);
  self->after.for_each([&](const auto& hook) {
    const Tensor result = hook(module, input, output);
    if (result.defined()) output = result;
  });
  if (!watched || !output.defined() || !output.requires_grad()) return output;
  const auto call = std::make_shared<BackwardCall>(module, self);
  output = ModuleBoundary::apply(output);
  output.register_hook([call, has_grad_input](const Tensor& gradient) {
    call->set_grad_output(gradient);
    if (!has_grad_input) call->run(Tensor());
  });
  if (has_grad_input) {
    input.register_hook(
        [call](const Tensor& gradient) { return call->run(gradient); });
  }
  return output;
}

void Module::set_checkpoint(const CheckpointOptions* options) {
  if (options != nullptr) {
    make_hooks().checkpoint = *options;
  } else if (hooks_ != nullptr) {
    hooks_->checkpoint.reset();
  }
}

bool Module::is_checkpointed() const {
  return hooks_ != nullptr && hooks_->checkpoint.has_value();
}

Tensor Module::call_with_hooks(const Tensor& input) {
  return ModuleHooks::call(hooks_, input);
}

ModuleHooks& Module::make_hooks() {
  if (hooks_ == nullptr) hooks_ = std::make_shared<ModuleHooks>(*this);
  return *hooks_;
}

autograd::HookHandle Module::add_forward_pre_hook(ModuleHooks::PreHook hook) {
  return make_hooks().before.add(std::move(hook));
}

autograd::HookHandle Module::add_forward_hook(ModuleHooks::Hook hook) {
  return make_hooks().after.add(std::move(hook));
}

autograd::HookHandle Module::add_full_backward_hook(ModuleHooks::Hook hook) {
  return make_hooks().backward.add(std::move(hook));
}

}  // namespace hvd::nn
