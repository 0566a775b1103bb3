// SPDX-License-Identifier: Apache-2.0
// A DistributedOptimizer between processes. optim_test has its behavior with
// threads as ranks, and runtime_mpi_test the collectives between processes.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/autograd.h"
#include "horovodpp/checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"

namespace hvd::optim {
namespace {

class Processes : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(init(), absl::OkStatus()); }
  void TearDown() override {
    EXPECT_EQ(barrier(), absl::OkStatus());
    EXPECT_EQ(shutdown(), absl::OkStatus());
  }
};

// Two reentrant regions share a weight, and ranks have different numbers of
// samples.
TEST_F(Processes, ClipAndWeighSharedGradients) {
  const Tensor w = ones({1}, {.dtype = DType::kF64, .requires_grad = true});
  const Tensor v = ones({1}, {.dtype = DType::kF64, .requires_grad = true});
  DistributedOptimizer optimizer(
      std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"w", w}, {"v", v}},
                            SGDOptions{.learning_rate = 1}),
      {.groups = 1, .check_parameters_every = 1});
  GradScaler scaler({.init_scale = 8});
  // Rank r has r + 1 samples of x = 1: the gradient of each is 2 for w and 1
  // for v.
  const double samples = rank() + 1;
  const Tensor x = ones({1}, {.dtype = DType::kF64, .requires_grad = true});
  const CheckpointOptions reentrant = {.use_reentrant = true};
  const auto times_w = [&](const Tensor& in) { return in * w; };
  const Tensor y =
      checkpoint(times_w, checkpoint(times_w, x, reentrant) * v, reentrant);
  scaler.scale(y.sum() * samples).backward();
  const StepResult result = optimizer.step(
      {.max_norm = 100, .grad_scaler = &scaler, .weight = samples});
  EXPECT_NEAR(*result.norm, std::sqrt(5.0), 1e-12);
  EXPECT_NEAR(w.item<double>(), -1, 1e-12);
  EXPECT_NEAR(v.item<double>(), 0, 1e-12);
  EXPECT_EQ(optimizer.reduced().gradients, 2u);
}

// Through memory that processes share: gradients in the arena, and parts of
// gradients.
TEST_F(Processes, MoveTheirPartsToTheBitsOfWholeUpdates) {
  struct Layers {
    explicit Layers(bool shards) {
      manual_seed(5);
      for (const auto& [in, out] : {std::pair{300, 700}, std::pair{700, 33}}) {
        layers.push_back(std::make_unique<nn::Linear>(in, out));
        for (auto& [name, tensor] : layers.back()->named_parameters()) {
          named.push_back({std::to_string(layers.size()) + name, tensor});
        }
      }
      optimizer = std::make_unique<DistributedOptimizer>(
          std::make_unique<AdamW>(named, AdamWOptions{.learning_rate = 0.01}),
          DistributedOptions{.shard_updates = shards,
                             .check_parameters_every = 1,
                             .name = shards ? "parts" : "whole"});
    }
    void step(int number) {
      optimizer->zero_grad();
      const Tensor x = full({4, 300}, 0.1 * (rank() + 1) + 0.01 * number);
      const Tensor y = (*layers[1])(tanh((*layers[0])(x)));
      (y * y).mean().backward();
      optimizer->step();
    }
    std::vector<std::unique_ptr<nn::Linear>> layers;
    std::vector<nn::NamedTensor> named;
    std::unique_ptr<DistributedOptimizer> optimizer;
  };
  Layers whole(false);
  Layers parts(true);
  for (int number = 0; number < 4; ++number) {
    whole.step(number);
    parts.step(number);
  }
  const nn::StateDict expected = whole.optimizer->state_dict();
  const nn::StateDict state = parts.optimizer->state_dict();
  ASSERT_EQ(state.size(), expected.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    EXPECT_EQ(state[i].name, expected[i].name);
    EXPECT_EQ(state[i].tensor.to(DType::kF64).to_vector<double>(),
              expected[i].tensor.to(DType::kF64).to_vector<double>())
        << state[i].name;
  }
  for (std::size_t i = 0; i < parts.named.size(); ++i) {
    EXPECT_EQ(parts.named[i].tensor.to_vector<float>(),
              whole.named[i].tensor.to_vector<float>())
        << parts.named[i].name;
  }
}

}  // namespace
}  // namespace hvd::optim
