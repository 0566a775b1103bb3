// SPDX-License-Identifier: Apache-2.0
// An OptimizerWrapper is an optimizer around another one, which makes the
// steps. It has the wrapped optimizer's parameters, state and learning rates,
// unless a derived class changes them.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <memory>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/optimizer.h"

namespace HVD_EXPORT hvd {
namespace optim {

class OptimizerWrapper : public Optimizer {
 public:
  ~OptimizerWrapper() override;

  std::vector<nn::NamedTensor> state() const override;
  nn::StateDict state_dict() const override;
  void load_state_dict(const nn::StateDict& state,
                       const nn::LoadOptions& options = {}) override;
  std::vector<double> learning_rates() const override;
  void set_learning_rates(const std::vector<double>& rates) override;

 protected:
  // `name` is the derived class's name, for errors.
  //   InvalidArgument  there is none to wrap
  OptimizerWrapper(std::unique_ptr<Optimizer> wrapped, const char* name);

  Optimizer& wrapped() { return *wrapped_; }
  const Optimizer& wrapped() const { return *wrapped_; }

 private:
  const std::unique_ptr<Optimizer> wrapped_;
};

}  // namespace optim
}  // namespace hvd
