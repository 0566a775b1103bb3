// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/elastic/sharded_step.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/elastic/run.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/tensor/base/generator.h"
#include "test/elastic/ranks.h"

namespace hvd::elastic {
namespace {

constexpr int kSteps = 6;

// Trains on 4 shards; the given rank dies in the given step.
std::vector<float> train(JobOfThread& job, int victim, int last_step) {
  manual_seed(1);
  Net net;
  optim::Adam adam(net.named_parameters(), optim::AdamOptions());
  ShardedStep sharded(net, adam, {.shards = 4, .seed = 7});
  ShardedIndices batches(40, {.batch_size = 2, .shards = 4, .seed = 2});
  std::int64_t step = 0;
  State state(net, adam);
  state.keep("step", step);
  const bool dies = rank() == victim;
  run(
      state,
      [&] {
        while (step < kSteps) {
          sharded.step(step, [&](int shard) {
            if (dies && step == last_step) throw Dies();
            const auto item = batches(step, shard)[0];
            net.loss(static_cast<std::uint64_t>(item)).backward();
          });
          ++step;
          state.end_step();
        }
      },
      [&] { job.reset(); });
  return net.values();
}

TEST(ShardedStep, GivesTheSameBitsWithAnyNumberOfRanks) {
  std::vector<float> alone;
  run_mortal_ranks(1, 0, [&](JobOfThread& job) { alone = train(job, -1, 0); });
  ASSERT_FALSE(alone.empty());
  for (const int ranks : {2, 3, 4}) {
    run_mortal_ranks(ranks, 0, [&](JobOfThread& job) {
      EXPECT_EQ(train(job, -1, 0), alone) << ranks << " ranks";
    });
  }
}

TEST(ShardedStep, ALossDoesNotShow) {
  std::vector<float> alone;
  run_mortal_ranks(1, 0, [&](JobOfThread& job) { alone = train(job, -1, 0); });
  for (const int victim : {0, 2}) {
    run_mortal_ranks(3, 1, [&](JobOfThread& job) {
      EXPECT_EQ(train(job, victim, 3), alone) << "without rank " << victim;
    });
  }
}

TEST(ShardedStep, RefusesMistakes) {
  run_mortal_ranks(2, 0, [](JobOfThread&) {
    Net net;
    optim::Adam adam(net.named_parameters(), optim::AdamOptions());
    EXPECT_THROW(ShardedStep(net, adam, {.shards = 0}), InvalidArgument);
    ShardedStep few(net, adam, {.shards = 1});
    EXPECT_THROW(few.step(0, [](int) {}), InvalidArgument);
    DistributedOptimizer distributed(std::make_unique<optim::Adam>(
        net.named_parameters(), optim::AdamOptions()));
    EXPECT_THROW(ShardedStep(net, distributed, {.shards = 2}), InvalidArgument);
  });
}

TEST(ShardedIndices, CoverAnEpochOnce) {
  ShardedIndices batches(50, {.batch_size = 3, .shards = 4, .seed = 9});
  ASSERT_EQ(batches.steps_per_epoch(), 4);
  std::set<std::int64_t> seen;
  for (int step = 0; step < 4; ++step) {
    for (int shard = 0; shard < 4; ++shard) {
      for (const std::int64_t i : batches(step, shard)) seen.insert(i);
    }
  }
  EXPECT_EQ(seen.size(), 48u);
  EXPECT_NE(batches(0, 0), batches(4, 0));  // Another epoch.
  EXPECT_EQ(
      batches(4, 1),
      ShardedIndices(50, {.batch_size = 3, .shards = 4, .seed = 9})(4, 1));
  EXPECT_THROW(ShardedIndices(5, {.batch_size = 3, .shards = 4}),
               InvalidArgument);
  EXPECT_THROW(ShardedIndices(5, {.batch_size = 0, .shards = 4}),
               InvalidArgument);
}

}  // namespace
}  // namespace hvd::elastic
