// SPDX-License-Identifier: Apache-2.0
// A DistributedOptimizer and its state between processes.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/distributed/decentralized_optimizer.h"
#include "horovodpp/optim/distributed/delta_optimizer.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/distributed/sync_state.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/replica/objects.h"
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

TEST_F(Processes, TrainAlikeWithCompressedGradients) {
  for (const bool by_power : {false, true}) {
    manual_seed(3);
    nn::Linear model(30, 20);
    DistributedOptimizer optimizer(
        std::make_unique<SGD>(model.named_parameters(),
                              SGDOptions{.learning_rate = 0.1}),
        {.compression =
             by_power ? compression::power_sgd(2) : compression::int8_blocks(),
         .check_parameters_every = 1});
    float first = 0;
    float last = 0;
    for (int step = 0; step < 20; ++step) {
      optimizer.zero_grad();
      const Tensor loss =
          pow(model(full({4, 30}, 0.1 * (rank() + 1))) - 1.0, 2.0).mean();
      loss.backward();
      optimizer.step();  // Throws if ranks differ.
      (step == 0 ? first : last) = loss.item<float>();
    }
    EXPECT_LT(last, first);
  }
}

TEST_F(Processes, SynchronizeTheirState) {
  manual_seed(static_cast<std::uint64_t>(rank()));
  nn::Linear model(3, 2);
  Adam optimizer(model.named_parameters());
  const auto differences =
      sync_state({.model = &model, .optimizer = &optimizer}, size() - 1);
  EXPECT_EQ(differences.size(), size() == 1 ? 0u : 2u);
  EXPECT_TRUE(
      sync_state({.model = &model, .optimizer = &optimizer}, 0).empty());
  EXPECT_EQ(broadcast_object(std::to_string(rank()), size() - 1),
            std::to_string(size() - 1));
  EXPECT_EQ(allgather_object(std::string(static_cast<std::size_t>(rank()), 'a'))
                .back(),
            std::string(static_cast<std::size_t>(size()) - 1, 'a'));
}

// Rank r looks up its own row r times; rank 0 none.
TEST_F(Processes, GatherSparseGradients) {
  for (const bool as_dense : {false, true}) {
    nn::Embedding table(8, 2, {.sparse = true, .dtype = DType::kF64});
    broadcast_parameters(table.named_parameters(), 0);
    const std::vector<double> before = table.weight().to_vector<double>();
    DistributedOptimizer optimizer(
        std::make_unique<SGD>(table.named_parameters(),
                              SGDOptions{.learning_rate = 1}),
        {.op = ReduceOp::kSum,
         .sparse_as_dense = as_dense,
         .check_parameters_every = 1});
    table(full({rank()}, rank(), {.dtype = DType::kI64})).sum().backward();
    optimizer.step();
    const std::vector<double> after = table.weight().to_vector<double>();
    for (std::size_t i = 0; i < after.size(); ++i) {
      const auto row = static_cast<int>(i / 2);
      EXPECT_DOUBLE_EQ(after[i], before[i] - (row < size() ? row : 0));
    }
  }
}

TEST_F(Processes, AverageTheirWeightsPeriodically) {
  const Tensor w = full({3}, rank(), {.dtype = DType::kF64});
  Tensor parameter = w.clone();
  parameter.set_requires_grad(true);
  DecentralizedOptimizer ring(
      std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"w", parameter}},
                            SGDOptions{.learning_rate = 0}),
      ring_average());
  for (int step = 0; step < 60; ++step) ring.step();
  for (const double each : parameter.to_vector<double>()) {
    EXPECT_NEAR(each, 0.5 * (size() - 1), 1e-6);
  }
  DeltaOptimizer delta(
      std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"w", parameter}},
                            SGDOptions{.learning_rate = 1}),
      {.op = ReduceOp::kAverage});
  ring.average_weights();
  (parameter * rank()).sum().backward();
  delta.step();
  for (const double each : parameter.to_vector<double>()) {
    EXPECT_NEAR(each, 0, 1e-6);
  }
}

}  // namespace
}  // namespace hvd::optim
