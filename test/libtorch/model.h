// SPDX-License-Identifier: Apache-2.0
// A small model with everything that makes gradients hard to count, and data
// for every rank.
#pragma once

#include <torch/torch.h>

#include "horovodpp/libtorch.h"

namespace test {

namespace lt = hvd::libtorch;
using torch::Tensor;

constexpr int kRows = 4;  // Of each rank.

// `middle` is used twice, `weight` is tied, `unused` is never used.
struct ModelImpl : torch::nn::Module {
  ModelImpl() {
    torch::manual_seed(3);
    first = register_module("first", torch::nn::Linear(6, 8));
    middle = register_module("middle", torch::nn::Linear(8, 8));
    unused = register_module("unused", torch::nn::Linear(2, 2));
    weight = register_parameter("weight", torch::randn({8, 6}) / 3);
  }

  Tensor head(Tensor x) { return torch::linear(x, weight.t()); }
  Tensor body(Tensor x) {
    return torch::tanh(middle(torch::linear(x, weight)));
  }

  Tensor plain(Tensor x) {
    x = torch::tanh(first(x));
    return head(body(head(torch::tanh(middle(x)))));
  }
  Tensor checkpointed(Tensor x) {
    x = lt::checkpoint([this](Tensor in) { return torch::tanh(first(in)); }, x);
    x = lt::checkpoint(
        [this](Tensor in) { return head(torch::tanh(middle(in))); }, x);
    return lt::checkpoint([this](Tensor in) { return head(body(in)); }, x);
  }
  Tensor nested(Tensor x) {
    return lt::checkpoint([this](Tensor in) { return checkpointed(in); }, x);
  }

  torch::nn::Linear first{nullptr}, middle{nullptr}, unused{nullptr};
  Tensor weight;
};
TORCH_MODULE(Model);

// The rows of all ranks, in order.
inline Tensor batch(int step) {
  torch::manual_seed(100 + step);
  return torch::randn({lt::size() * kRows, 6});
}
inline Tensor of_this_rank(const Tensor& all) {
  return all.narrow(0, lt::rank() * kRows, kRows);
}
inline Tensor loss_of(const Tensor& output) {
  return (output - 0.5).pow(2).mean();
}

inline torch::optim::SGD sgd_for(Model& model) {
  return torch::optim::SGD(model->parameters(),
                           torch::optim::SGDOptions(0.2).momentum(0.9));
}

}  // namespace test
