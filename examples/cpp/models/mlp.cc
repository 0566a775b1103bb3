// SPDX-License-Identifier: Apache-2.0
#include "models/mlp.h"

#include <memory>

namespace models {

namespace nn = hvd::nn;

Mlp::Mlp(std::int64_t inputs, std::int64_t classes)
    : Sequential(std::make_shared<nn::Linear>(inputs, 256),
                 std::make_shared<nn::ReLU>(),
                 std::make_shared<nn::Linear>(256, 128),
                 std::make_shared<nn::ReLU>(),
                 std::make_shared<nn::Linear>(128, classes)) {}

hvd::Tensor Mlp::forward(const hvd::Tensor& images) {
  return Sequential::forward(images.reshape({images.size(0), -1}));
}

}  // namespace models
