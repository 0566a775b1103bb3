// SPDX-License-Identifier: Apache-2.0
// The steps between the call of a Module and its forward(): hooks and a
// checkpointed region. Module documents their behavior.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "horovodpp/checkpoint/policies/options.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/tensor/base/hook_list.h"

namespace hvd::nn {

class ModuleHooks {
 public:
  using PreHook = std::function<Tensor(Module&, const Tensor&)>;
  using Hook = std::function<Tensor(Module&, const Tensor&, const Tensor&)>;

  explicit ModuleHooks(Module& module) : module_(module) {}

  // Runs module.forward(input) with all hooks of `self`.
  static Tensor call(const std::shared_ptr<ModuleHooks>& self,
                     const Tensor& input);

  autograd::HookList<PreHook> before;
  autograd::HookList<Hook> after;
  autograd::HookList<Hook> backward;
  // If set, forward(), without the hooks, is a checkpointed region.
  std::optional<CheckpointOptions> checkpoint;

 private:
  static Tensor forward(const std::shared_ptr<ModuleHooks>& self,
                        const Tensor& input);

  Module& module_;
};

}  // namespace hvd::nn
