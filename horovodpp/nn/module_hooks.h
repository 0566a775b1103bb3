// SPDX-License-Identifier: Apache-2.0
// What stands between the call of a Module and its forward(): hooks, and a
// checkpointed region. See Module for what they promise.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "horovodpp/checkpoint/options.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/tensor/hook_list.h"

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
  // Whether forward(), without the hooks, is a checkpointed region, and how.
  std::optional<CheckpointOptions> checkpoint;

 private:
  static Tensor forward(const std::shared_ptr<ModuleHooks>& self,
                        const Tensor& input);

  Module& module_;
};

}  // namespace hvd::nn
