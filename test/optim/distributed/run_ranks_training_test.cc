// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads train like one rank with all of their data.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/nn.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"

namespace hvd::optim {
namespace {

// The weights of every rank after three steps.
std::vector<std::vector<double>> weights_trained_by(int ranks) {
  return run_ranks(ranks, [] {
    manual_seed(7);
    nn::Linear first(6, 5);
    nn::Linear second(5, 3);
    for (nn::Module* module : {&first, &second}) module->to(DType::kF64);
    std::vector<nn::NamedTensor> named;
    for (auto& [name, tensor] : first.named_parameters()) {
      named.push_back({"first." + name, tensor});
    }
    for (auto& [name, tensor] : second.named_parameters()) {
      named.push_back({"second." + name, tensor});
    }
    DistributedOptimizer optimizer(std::make_unique<SGD>(
        named, SGDOptions{.learning_rate = 0.5, .momentum = 0.9}));
    for (int step = 0; step < 3; ++step) {
      const Tensor all = randn({12, 6}).to(DType::kF64);
      const Tensor mine = all.chunk(size())[static_cast<std::size_t>(rank())];
      optimizer.zero_grad();
      const Tensor output = second(tanh(first(mine)));
      (output * output).mean().backward();
      optimizer.step();
    }
    std::vector<double> weights;
    for (const auto& [name, tensor] : named) {
      for (const double weight : tensor.to_vector<double>()) {
        weights.push_back(weight);
      }
    }
    return weights;
  });
}

TEST(RunRanksTraining, EqualsOneRankOverTheWholeBatch) {
  const std::vector<double> alone = weights_trained_by(1)[0];
  for (const int ranks : {2, 3, 4}) {
    const auto trained = weights_trained_by(ranks);
    for (const std::vector<double>& weights : trained) {
      EXPECT_EQ(weights, trained[0]);
      ASSERT_EQ(weights.size(), alone.size());
      for (std::size_t i = 0; i < alone.size(); ++i) {
        EXPECT_NEAR(weights[i], alone[i], 1e-12) << ranks << " ranks";
      }
    }
  }
}

TEST(RunRanksTraining, AgainGivesTheSameBits) {
  EXPECT_EQ(weights_trained_by(3), weights_trained_by(3));
}

}  // namespace
}  // namespace hvd::optim
