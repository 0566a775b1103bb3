// SPDX-License-Identifier: Apache-2.0
#include "models/lenet.h"

#include <horovodpp/ops.h>

namespace models {

using hvd::max_pool2d;
using hvd::relu;
using hvd::Tensor;
namespace nn = hvd::nn;

LeNet::LeNet()
    : conv1_(register_module("conv1",
                             std::make_shared<nn::Conv2d>(
                                 1, 6, 5, nn::Conv2dOptions{.padding = 2}))),
      conv2_(register_module("conv2", std::make_shared<nn::Conv2d>(6, 16, 5))),
      fc1_(register_module("fc1", std::make_shared<nn::Linear>(400, 120))),
      fc2_(register_module("fc2", std::make_shared<nn::Linear>(120, 84))),
      fc3_(register_module("fc3", std::make_shared<nn::Linear>(84, 10))) {}

Tensor LeNet::forward(const Tensor& images) {
  Tensor x = max_pool2d(relu((*conv1_)(images)), {.kernel = 2});
  x = max_pool2d(relu((*conv2_)(x)), {.kernel = 2});
  x = relu((*fc1_)(x.reshape({x.size(0), -1})));
  return (*fc3_)(relu((*fc2_)(x)));
}

}  // namespace models
