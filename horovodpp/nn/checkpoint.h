// SPDX-License-Identifier: Apache-2.0
// Checkpointing the modules of a model, without a change to their forward().
//
//   for (auto& block : model.blocks->children()) hvd::nn::checkpoint(*block);
//
//   {
//     hvd::nn::CheckpointScope scope(model, [](const std::string& name, auto&) {
//       return name.starts_with("layers.");
//     });
//     loss = hvd::cross_entropy(model(images), labels);
//   }
//   loss.backward();           // runs each of them again
//
// Hooks of the module itself stay outside of the region, and run once. The module
// must live until backward, and not be switched between training and evaluation
// before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/checkpoint/options.h"
#include "horovodpp/checkpoint/plan.h"
#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/nn/sequential.h"

namespace HVD_EXPORT hvd {
namespace nn {

// From now on calls of `module` are checkpointed; and no more.
void checkpoint(Module& module, const CheckpointOptions& options = {});
void uncheckpoint(Module& module);

// While it lives, calls of those modules in `model` (itself included, named "")
// that `chosen` picks are checkpointed; then as before.
class CheckpointScope {
 public:
  using Choice = std::function<bool(const std::string& name, const Module&)>;

  CheckpointScope(Module& model, const Choice& chosen,
                  const CheckpointOptions& options = {});
  ~CheckpointScope();
  CheckpointScope(const CheckpointScope&) = delete;
  CheckpointScope& operator=(const CheckpointScope&) = delete;

 private:
  std::vector<Module*> modules_;
};

// The modules of `chain` as functions of a chain: see checkpoint/sequential.h.
Tensor checkpoint_sequential(const Sequential& chain, std::int64_t segments,
                             const Tensor& input,
                             const CheckpointOptions& options = {});
Tensor checkpoint_sequential(const Sequential& chain,
                             const CheckpointPlan& plan, const Tensor& input,
                             const CheckpointOptions& options = {});

}  // namespace nn
}  // namespace hvd
