// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/elastic/boundary.h"

#include <cstddef>

#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::elastic {

Boundary::Boundary(const std::vector<nn::Module*>& modules,
                   const std::vector<optim::Optimizer*>& optimizers) {
  NoGrad no_grad;
  for (const nn::Module* const module : modules) {
    for (const auto& [name, buffer] : module->named_buffers()) {
      buffers_.push_back(buffer);
      kept_.push_back(buffer.clone());
    }
  }
  for (optim::Optimizer* const optimizer : optimizers) {
    for (const auto& [name, parameter] : optimizer->parameters()) {
      parameters_.push_back(parameter);
    }
    const auto* distributed = dynamic_cast<DistributedOptimizer*>(optimizer);
    if (distributed != nullptr && distributed->compression() != nullptr) {
      residuals_.push_back({distributed->compression().get()});
    }
  }
}

void Boundary::keep() {
  NoGrad no_grad;
  for (std::size_t i = 0; i < kept_.size(); ++i) kept_[i].copy_(buffers_[i]);
  for (Residuals& kept : residuals_) kept.values = kept.compressor->state();
  random_ = autograd::default_generator().state();
  writes_ = writes();
}

void Boundary::put_back() const {
  NoGrad no_grad;
  for (std::size_t i = 0; i < kept_.size(); ++i) buffers_[i].copy_(kept_[i]);
  for (const Residuals& kept : residuals_) {
    kept.compressor->load_state(kept.values);
  }
  autograd::default_generator().set_state(random_);
}

std::uint64_t Boundary::writes() const {
  std::uint64_t sum = 0;
  for (const Tensor& parameter : parameters_) sum += parameter.version();
  return sum;
}

}  // namespace hvd::elastic
