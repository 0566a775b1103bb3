// SPDX-License-Identifier: Apache-2.0
// Checkpoints modules of a model without changes to their forward().
//
//   for (auto& block : model.blocks->children()) hvd::nn::checkpoint(*block);
//
//   {
//     hvd::nn::CheckpointScope scope(model, [](const std::string& name, auto&) {
//       return name.starts_with("layers.");
//     });
//     loss = hvd::cross_entropy(model(images), labels);
//   }
//   loss.backward();           // recomputes each of these modules
//
// Hooks of the module itself stay outside of the region, and run once. Until
// backward the module must live, and must not switch between training and
// evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/checkpoint/plans/plan.h"
#include "horovodpp/checkpoint/policies/options.h"
#include "horovodpp/core/export.h"
#include "horovodpp/nn/containers.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

// Turns checkpointing of calls of `module` on, and off.
void checkpoint(Module& module, const CheckpointOptions& options = {});
void uncheckpoint(Module& module);

// While it lives, calls of the modules of `model` that `chosen` selects are
// checkpointed. `chosen` sees `model` itself under the name "". The destructor
// restores the former settings.
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

// Checkpoints the modules of `chain` as a chain of functions: see
// checkpoint/sequential.h.
Tensor checkpoint_sequential(const Sequential& chain, std::int64_t segments,
                             const Tensor& input,
                             const CheckpointOptions& options = {});
Tensor checkpoint_sequential(const Sequential& chain,
                             const CheckpointPlan& plan, const Tensor& input,
                             const CheckpointOptions& options = {});

}  // namespace nn
}  // namespace hvd
