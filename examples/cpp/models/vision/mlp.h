// SPDX-License-Identifier: Apache-2.0
// Mlp is a multilayer perceptron, inputs-256-128-classes, with ReLU between.
//
//   models::Mlp model;
//   hvd::Tensor logits = model(images);  // [n, ...] -> [n, 10]
#pragma once

#include <cstdint>

#include "models/chain_model.h"

namespace models {

class Mlp : public ChainModel {
 public:
  explicit Mlp(std::int64_t inputs = 784, std::int64_t classes = 10);
};

}  // namespace models
