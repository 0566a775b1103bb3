// SPDX-License-Identifier: Apache-2.0
// The ranks' state is made equal, and checked to stay equal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/distributed/sync_state.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"
#include "test/support/expect_error.h"

namespace hvd::optim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The whole state of a training program of this rank.
struct SyncedProgram {
  SyncedProgram() : optimizer(model.named_parameters()) {}

  void step() {
    optimizer.zero_grad();
    scaler.scale(model(randn({2, 3})).sum()).backward();
    scaler.step(optimizer);
    scaler.update();
    schedule.step();
  }
  SyncedState state() {
    return {.model = &model,
            .optimizer = &optimizer,
            .scheduler = &schedule,
            .scaler = &scaler,
            .generator = &autograd::default_generator()};
  }

  nn::Linear model{3, 2};
  Adam optimizer;
  LRScheduler schedule{optimizer, step_lr({.gamma = 0.5})};
  GradScaler scaler{{.init_scale = 4, .growth_interval = 2}};
};

std::vector<std::string> names_of(const std::vector<StateDifference>& all) {
  std::vector<std::string> names;
  for (const auto& [name, ranks] : all) names.push_back(name);
  return names;
}

TEST(SyncState, MakesTheStateOfAllRanksEqual) {
  run_ranks(3, [] {
    manual_seed(static_cast<std::uint64_t>(rank()));
    SyncedProgram program;
    for (int step = 0; step < rank(); ++step) program.step();
    const auto differences = sync_state(program.state(), 2);
    EXPECT_THAT(
        names_of(differences),
        ::testing::IsSupersetOf({"generator.seed", "model.bias", "model.weight",
                                 "optimizer.state.weight.exp_avg",
                                 "scaler.scale", "scheduler.step"}));
    EXPECT_EQ(program.scaler.factor(), 8);
    EXPECT_EQ(program.schedule.num_steps(), 2);
    EXPECT_TRUE(sync_state(program.state(), 0).empty());
    // All ranks go on alike.
    program.step();
    EXPECT_TRUE(sync_state(program.state(), 1).empty());
  });
}

TEST(SyncState, ReportsTheRanksOfDifferences) {
  run_ranks(4, [] {
    manual_seed(1);
    SyncedProgram program;
    if (rank() == 1 || rank() == 3) {
      NoGrad no_grad;
      program.model.bias().add_(rank());
    }
    const auto differences = sync_state(program.state(), 0);
    ASSERT_THAT(names_of(differences), ElementsAre("model.bias"));
    EXPECT_THAT(differences[0].ranks, ElementsAre(1, 3));
    EXPECT_TRUE(sync_state(program.state(), 0).empty());
  });
}

struct Replicas {
  explicit Replicas(int check_every)
      : optimizer(std::make_unique<SGD>(
                      std::vector<nn::NamedTensor>{{"a", a}, {"b", b}},
                      SGDOptions{.learning_rate = 1}),
                  {.check_parameters_every = check_every}) {}
  void step() {
    optimizer.zero_grad();
    (a.sum() + b.sum()).backward();
    optimizer.step();
  }
  Tensor a = zeros({2}, {.requires_grad = true});
  Tensor b = zeros({5}, {.requires_grad = true});
  DistributedOptimizer optimizer;
};

TEST(ReplicaCheck, NamesTheFirstParameterThatDiffersAndTheMinority) {
  run_ranks(4, [] {
    Replicas replicas(2);
    replicas.step();
    if (rank() == 2) {
      NoGrad no_grad;
      replicas.b.narrow(0, 3, 1).add_(1e-7);
    }
    const Status status = error_of([&] { replicas.step(); });
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), HasSubstr("after step 2"));
    EXPECT_THAT(status.message(), HasSubstr("'b' is the first that differs, on "
                                            "rank 2 from the others"));
  });
}

TEST(ReplicaCheck, RunsAtTheRequestedInterval) {
  run_ranks(2, [] {
    Replicas never(0);
    {
      NoGrad no_grad;
      never.a.add_(rank());
    }
    for (int step = 0; step < 3; ++step) never.step();
    EXPECT_THROW(Replicas(-1), Error);
  });
  run_ranks(2, [] {
    Replicas replicas(1);
    replicas.step();
    // From here on the ranks differ.
    {
      const auto skip = replicas.optimizer.skip_synchronize();
      replicas.a.set_grad(full({2}, rank()));
      EXPECT_NO_THROW(replicas.optimizer.step());
    }
    EXPECT_NO_THROW(replicas.step());
  });
}

}  // namespace
}  // namespace hvd::optim
