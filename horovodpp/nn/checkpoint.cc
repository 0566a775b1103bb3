// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/checkpoint.h"

#include "horovodpp/checkpoint/sequential.h"

namespace hvd::nn {
namespace {

std::vector<ChainFunction> functions_of(const Sequential& chain) {
  std::vector<ChainFunction> functions;
  for (const auto& module : chain.modules()) {
    functions.push_back([module](const Tensor& x) { return (*module)(x); });
  }
  return functions;
}

}  // namespace

void checkpoint(Module& module, const CheckpointOptions& options) {
  module.set_checkpoint(&options);
}

void uncheckpoint(Module& module) { module.set_checkpoint(nullptr); }

CheckpointScope::CheckpointScope(Module& model, const Choice& chosen,
                                 const CheckpointOptions& options) {
  for (const auto& [name, module] : model.named_modules()) {
    if (module->is_checkpointed() || !chosen(name, *module)) continue;
    checkpoint(*module, options);
    modules_.push_back(module);
  }
}

CheckpointScope::~CheckpointScope() {
  for (Module* module : modules_) uncheckpoint(*module);
}

Tensor checkpoint_sequential(const Sequential& chain, std::int64_t segments,
                             const Tensor& input,
                             const CheckpointOptions& options) {
  return hvd::checkpoint_sequential(functions_of(chain), segments, input,
                                    options);
}

Tensor checkpoint_sequential(const Sequential& chain,
                             const CheckpointPlan& plan, const Tensor& input,
                             const CheckpointOptions& options) {
  return hvd::checkpoint_sequential(functions_of(chain), plan, input, options);
}

}  // namespace hvd::nn
