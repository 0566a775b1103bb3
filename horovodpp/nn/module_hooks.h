// The hooks of a Module and the call that runs them. See Module for what they
// promise.
#pragma once

#include <functional>

#include "horovodpp/nn/module.h"
#include "horovodpp/tensor/hook_handle.h"

namespace hvd::nn {

class ModuleHooks {
 public:
  using PreHook = std::function<Tensor(Module&, const Tensor&)>;
  using Hook = std::function<Tensor(Module&, const Tensor&, const Tensor&)>;

  explicit ModuleHooks(Module& module) : module_(module) {}

  // module.forward(input), with all hooks around it. `self` are these hooks.
  static Tensor call(const std::shared_ptr<ModuleHooks>& self,
                     const Tensor& input);

  autograd::HookList<PreHook> before;
  autograd::HookList<Hook> after;
  autograd::HookList<Hook> backward;

 private:
  Module& module_;
};

}  // namespace hvd::nn
