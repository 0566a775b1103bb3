// SPDX-License-Identifier: Apache-2.0
// A multilayer perceptron, inputs-256-128-classes, with ReLU between.
//
//   models::Mlp model;
//   hvd::Tensor logits = model(images);  // [n, ...] -> [n, 10]
#pragma once

#include <horovodpp/nn/nn.h>

namespace models {

class Mlp : public hvd::nn::Sequential {
 public:
  explicit Mlp(std::int64_t inputs = 784, std::int64_t classes = 10);

  hvd::Tensor forward(const hvd::Tensor& images) override;
};

}  // namespace models
