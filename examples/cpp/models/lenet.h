// SPDX-License-Identifier: Apache-2.0
// LeNet-5 (LeCun et al. 1998), with ReLU and maxima, for images of 28x28.
#pragma once

#include <horovodpp/nn/nn.h>

#include <memory>

namespace models {

class LeNet : public hvd::nn::Module {
 public:
  LeNet();

  // float [n, 1, 28, 28] -> [n, 10]
  hvd::Tensor forward(const hvd::Tensor& images) override;

 private:
  std::shared_ptr<hvd::nn::Conv2d> conv1_;
  std::shared_ptr<hvd::nn::Conv2d> conv2_;
  std::shared_ptr<hvd::nn::Linear> fc1_;
  std::shared_ptr<hvd::nn::Linear> fc2_;
  std::shared_ptr<hvd::nn::Linear> fc3_;
};

}  // namespace models
