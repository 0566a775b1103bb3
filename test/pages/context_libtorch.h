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

struct libtorch_several_losses {
  static torch::Tensor real(const torch::Tensor& score) {
    return torch::softplus(-score).mean();
  }
  static torch::Tensor fake(const torch::Tensor& score) {
    return torch::softplus(score).mean();
  }
  static hvd::libtorch::DistributedOptions named(const char* name) {
    hvd::libtorch::DistributedOptions options;
    options.name = name;
    return options;
  }
  torch::nn::Linear generator{3, 2}, critic{2, 1};
  torch::Tensor noise = torch::ones({2, 3}), data = torch::ones({2, 2});
  hvd::libtorch::DistributedOptimizer of_generator{
      torch::optim::SGD(generator->parameters(), 0.1),
      generator->named_parameters(), named("generator")};
  hvd::libtorch::DistributedOptimizer of_critic{
      torch::optim::SGD(critic->parameters(), 0.1), critic->named_parameters(),
      named("critic")};
};
