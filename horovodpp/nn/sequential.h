// SPDX-License-Identifier: Apache-2.0
// Sequential: a chain of modules, each fed with the output of the one before.
//
//   auto model = std::make_shared<hvd::nn::Sequential>(
//       std::make_shared<hvd::nn::Linear>(784, 128),
//       std::make_shared<hvd::nn::ReLU>(),
//       std::make_shared<hvd::nn::Linear>(128, 10));
//
// The modules are named "0", "1", ….
#pragma once

#include <concepts>
#include <memory>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

class Sequential : public Module {
 public:
  explicit Sequential(std::vector<std::shared_ptr<Module>> modules);

  template <typename... M>
  requires(std::derived_from<M, Module>&&...) explicit Sequential(
      std::shared_ptr<M>... modules)
      : Sequential(
            std::vector<std::shared_ptr<Module>>{std::move(modules)...}) {}

  Tensor forward(const Tensor& input) override;

  const std::vector<std::shared_ptr<Module>>& modules() const {
    return modules_;
  }

 private:
  std::vector<std::shared_ptr<Module>> modules_;
};

}  // namespace nn
}  // namespace hvd
