// SPDX-License-Identifier: Apache-2.0
#include "models/vision/lenet.h"

#include <horovodpp/ops.h>

#include <memory>

namespace models {

using hvd::relu;
using hvd::Tensor;
namespace nn = hvd::nn;

LeNet::LeNet() {
  const auto conv1 = register_module(
      "conv1",
      std::make_shared<nn::Conv2d>(1, 6, 5, nn::Conv2dOptions{.padding = 2}));
  const auto conv2 =
      register_module("conv2", std::make_shared<nn::Conv2d>(6, 16, 5));
  const auto fc1 =
      register_module("fc1", std::make_shared<nn::Linear>(400, 120));
  const auto fc2 =
      register_module("fc2", std::make_shared<nn::Linear>(120, 84));
  const auto fc3 = register_module("fc3", std::make_shared<nn::Linear>(84, 10));
  for (const auto& conv : {conv1, conv2}) {
    add_block({{[conv](const Tensor& x) {
      return hvd::max_pool2d(relu((*conv)(x)), {.kernel = 2});
    }}});
  }
  add_stage({[fc1](const Tensor& x) {
    return relu((*fc1)(x.reshape({x.size(0), -1})));
  }});
  add_stage({[fc2](const Tensor& x) { return relu((*fc2)(x)); }});
  add_stage({[fc3](const Tensor& x) { return (*fc3)(x); }});
}

}  // namespace models
