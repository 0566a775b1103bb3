// SPDX-License-Identifier: Apache-2.0
// The names that snippets with libtorch take from the text around them.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "test/libtorch/checks.h"

struct libtorch_training {
  static std::vector<torch::data::Example<>> part_of(int rank, int) {
    return {2, {torch::full({3, 4}, 0.5 * rank), torch::ones({3, 2})}};
  }
  static torch::Tensor loss_of(torch::Tensor output, torch::Tensor target) {
    return torch::mse_loss(output, target);
  }
  torch::nn::Linear model{4, 2};
};

struct libtorch_checkpoint {
  std::vector<torch::nn::Linear> blocks = {torch::nn::Linear(4, 4),
                                           torch::nn::Linear(4, 4)};
  torch::Tensor x = torch::ones({2, 4}, torch::requires_grad());
};

struct libtorch_step : libtorch_training {
  hvd::libtorch::DistributedOptimizer optimizer{
      torch::optim::SGD(model->parameters(), 0.1), model->named_parameters()};
  torch::Tensor rows = torch::ones({3, 4});
  torch::Tensor target = torch::ones({3, 2});
  static torch::Tensor sum_of(torch::Tensor output, torch::Tensor target) {
    return (output - target).pow(2).sum();
  }
};

struct libtorch_delta : libtorch_training {};
