// SPDX-License-Identifier: Apache-2.0
// LeNet-5 (LeCun et al. 1998), with ReLU and max pooling, for images of 28x28.
//
//   models::LeNet model;
//   hvd::Tensor logits = model(images);  // [n, 1, 28, 28] -> [n, 10]
#pragma once

#include "models/chain_model.h"

namespace models {

class LeNet : public ChainModel {
 public:
  LeNet();
};

}  // namespace models
