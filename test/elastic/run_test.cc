// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/elastic/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <mutex>
#include <string>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/data/distributed_sampler.h"
#include "horovodpp/elastic/elastic_sampler.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/lr_schedule.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/snapshot/snapshots.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/factories.h"
#include "test/elastic/ranks.h"
#include "test/support/temporary_folder.h"
#include "test/transport/tcp/running_server.h"

namespace hvd::elastic {
namespace {

using ::testing::HasSubstr;

// A weight that each step lowers by the number of ranks.
struct Counter {
  Counter()
      : optimizer(std::make_unique<optim::SGD>(
                      std::vector<nn::NamedTensor>{{"w", weight}},
                      optim::SGDOptions{.learning_rate = 1}),
                  {.op = ReduceOp::kSum}) {
    state.keep("optimizer", optimizer);
    state.keep("weights", holder);
    state.keep("step", step);
  }
  void backward() {
    optimizer.zero_grad();
    weight.sum().backward();
  }
  float value() const { return weight.to_vector<float>()[0]; }

  struct Holder : nn::Module {
    explicit Holder(const Tensor& weight) { register_parameter("w", weight); }
    Tensor forward(const Tensor& x) override { return x; }
  };
  Tensor weight = zeros({3}).set_requires_grad(true);
  Holder holder{weight};
  DistributedOptimizer optimizer;
  State state;
  int step = 0;
};

TEST(ElasticRun, ReturnsTheValueOfTheBody) {
  run_mortal_ranks(1, 0, [](JobOfThread&) {
    State state;
    EXPECT_EQ(run(state, [] { return std::string("done"); }), "done");
  });
}

TEST(ElasticRun, RepeatsTheStepOfALoss) {
  constexpr int kSteps = 20;
  constexpr int kLast = 7;  // Steps with all ranks.
  run_mortal_ranks(3, 1, [&](JobOfThread& job) {
    Counter training;
    const bool dies = rank() == 1;
    int made = 0;
    run(
        training.state,
        [&] {
          while (training.step < kSteps) {
            if (dies && training.step == kLast) throw Dies();
            training.backward();
            training.optimizer.step();
            ++training.step;
            ++made;
            training.state.end_step();
          }
        },
        [&] { job.reset(); });
    EXPECT_EQ(made, kSteps);
    EXPECT_EQ(training.value(), -(kLast * 3.0f + (kSteps - kLast) * 2.0f));
  });
}

// Rank 1 is about to make the last step of the old job when rank 2 is lost;
// rank 0 has made it.
TEST(ElasticRun, TakesTheStateOfTheRankThatGotFurthest) {
  constexpr int kSteps = 12;
  constexpr int kLast = 5;
  run_mortal_ranks(3, 1, [&](JobOfThread& job) {
    Counter training;
    const int me = rank();
    run(
        training.state,
        [&] {
          while (training.step < kSteps) {
            training.backward();
            training.optimizer.synchronize();
            const bool is_last = training.step == kLast - 1 && size() == 3;
            if (is_last && me == 1) {
              while (job->status().ok()) std::this_thread::yield();
              throw Error(absl::AbortedError("a loss before the update"));
            }
            {
              auto skip = training.optimizer.skip_synchronize();
              training.optimizer.step();
            }
            ++training.step;
            training.state.end_step();
            if (is_last && me == 2) throw Dies();
          }
        },
        [&] { job.reset(); });
    EXPECT_EQ(training.value(), -(kLast * 3.0f + (kSteps - kLast) * 2.0f));
  });
}

TEST(ElasticRun, GoesBackToTheLastCommit) {
  run_mortal_ranks(2, 1, [](JobOfThread& job) {
    Counter training;
    int calls = 0;
    training.state.register_reset_callback([&] { ++calls; });
    const bool dies = rank() == 1;
    run(
        training.state,
        [&] {
          while (training.step < 10) {
            if (dies && training.step == 7) throw Dies();
            training.backward();
            training.optimizer.step();
            ++training.step;
            if (training.step % 5 == 0) training.state.commit();
          }
        },
        [&] { job.reset(); });
    EXPECT_EQ(training.value(), -(5 * 2.0f + 5 * 1.0f));
    EXPECT_EQ(calls, 1);
  });
}

// Buffers, random numbers, schedules and samplers are those of a training in
// which nothing failed.
TEST(ElasticRun, PutsBackWhatAStepHasChanged) {
  constexpr int kSteps = 8;
  // With equal data on all ranks, the number of ranks changes no result.
  const auto train = [&](JobOfThread& job, bool dies) {
    manual_seed(3);
    Net net;
    DistributedOptimizer optimizer(std::make_unique<optim::Adam>(
        net.named_parameters(), optim::AdamOptions()));
    optim::LRScheduler schedule(optimizer,
                                optim::step_lr({.step_size = 2, .gamma = 0.5}));
    data::DistributedSampler sampler(64, {.seed = 4});
    int step = 0;
    State state(net, optimizer);
    state.keep("step", step);
    state.keep("schedule", schedule);
    state.keep("sampler", sampler);
    run(
        state,
        [&] {
          while (step < kSteps) {
            optimizer.zero_grad();
            const std::int64_t item = sampler.indices()[0];
            sampler.set_position(sampler.position() + 1);
            const Tensor loss = net.loss(static_cast<std::uint64_t>(item));
            if (dies && step == 4) throw Dies();
            loss.backward();
            optimizer.step();
            schedule.step();
            ++step;
            state.end_step();
          }
        },
        [&] { job.reset(); });
    EXPECT_EQ(sampler.position(), kSteps);
    return net.values();
  };
  std::vector<float> undisturbed;
  run_mortal_ranks(1, 0,
                   [&](JobOfThread& job) { undisturbed = train(job, false); });
  run_mortal_ranks(2, 1, [&](JobOfThread& job) {
    EXPECT_EQ(train(job, rank() == 1), undisturbed);
  });
}

// A lost rank takes its part of the state along; the commit has all of it.
TEST(ElasticRun, ShardedUpdatesGoOnFromACommit) {
  const auto train = [](JobOfThread& job, bool dies) {
    manual_seed(3);
    Net net;
    DistributedOptimizer optimizer(
        std::make_unique<optim::Adam>(net.named_parameters(),
                                      optim::AdamOptions()),
        {.shard_updates = true});
    optimizer.gather_during_forward(net);
    int step = 0;
    State state(net, optimizer);
    state.keep("step", step);
    run(
        state,
        [&] {
          while (step < 6) {
            if (dies && step == 3) throw Dies();
            optimizer.zero_grad();
            net.loss(static_cast<std::uint64_t>(step)).backward();
            optimizer.step();
            ++step;
            EXPECT_THROW(state.end_step(), Error);
            manual_seed(static_cast<std::uint64_t>(step));
            if (step % 2 == 0) state.commit();
          }
        },
        [&] {
          job.reset();
          manual_seed(2);
        });
    optimizer.finish_step();
    return net.values();
  };
  std::vector<float> undisturbed;
  run_mortal_ranks(1, 0,
                   [&](JobOfThread& job) { undisturbed = train(job, false); });
  run_mortal_ranks(3, 1, [&](JobOfThread& job) {
    const std::vector<float> values = train(job, rank() == 1);
    ASSERT_EQ(values.size(), undisturbed.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(values[i], undisturbed[i], 1e-5) << i;
    }
  });
}

// All ranks of the first job are gone; the second one has another number.
TEST(ElasticState, GoesOnFromASnapshotWithAnyNumberOfRanks) {
  const TemporaryFolder folder;
  const auto train = [&](JobOfThread& job, int last) {
    manual_seed(static_cast<std::uint64_t>(last));
    Net net;
    DistributedOptimizer optimizer(std::make_unique<optim::Adam>(
        net.named_parameters(), optim::AdamOptions()));
    std::int64_t step = 0;
    double rate = 0;
    State state(net, optimizer);
    state.keep("step", step);
    state.keep("rate", rate);
    const auto snapshots = value_or_throw(snapshot::Snapshots::open(
        {.directory = folder.path(), .share_of_time = 1}));
    const auto found = state.load_from(*snapshots);
    EXPECT_EQ(found.value_or(0), step);
    EXPECT_EQ(rate, static_cast<double>(step) / 2);
    run(
        state,
        [&] {
          while (step < last) {
            optimizer.zero_grad();
            manual_seed(static_cast<std::uint64_t>(step));
            net.loss(static_cast<std::uint64_t>(step)).backward();
            optimizer.step();
            ++step;
            rate = static_cast<double>(step) / 2;
            state.end_step();
            if (step % 3 != 0) continue;
            state.save_to(*snapshots, step);
            EXPECT_TRUE(snapshots->finish().ok());
          }
        },
        [&] { job.reset(); });
    return net.values();
  };
  std::vector<float> undisturbed;
  run_mortal_ranks(2, 0, [&](JobOfThread& job) { train(job, 7); });
  run_mortal_ranks(1, 0, [&](JobOfThread& job) {
    undisturbed = train(job, 9);  // From step 6 on.
  });
  run_mortal_ranks(2, 0, [&](JobOfThread& job) {
    EXPECT_EQ(train(job, 9), undisturbed);  // The training had ended.
  });
}

TEST(ElasticRun, OtherErrorsPassThrough) {
  run_mortal_ranks(1, 0, [](JobOfThread&) {
    State state;
    EXPECT_THROW(run(state, [] { throw InvalidArgument("no data"); }),
                 InvalidArgument);
  });
}

TEST(ElasticState, RefusesNames) {
  State state;
  int value = 0;
  state.keep("value", value);
  EXPECT_THROW(state.keep("value", value), InvalidArgument);
  EXPECT_THROW(state.keep("", value), InvalidArgument);
  EXPECT_THROW(state.keep("a.b", value), InvalidArgument);
}

// --- Newcomers ---

Config config_of(const transport::RunningServer& server, int rank, int ranks,
                 bool is_newcomer) {
  Config config;
  config.rendezvous = "launcher:" + server.endpoints();
  config.job_key = server.key();
  config.rank = rank;
  config.expected_size = ranks;
  config.max_ranks = 3;
  config.is_newcomer = is_newcomer;
  return config;
}

// Trains with two ranks, and with three when a newcomer has joined, then
// `last` steps more.
void train_with_newcomer(const Config& config, bool shards,
                         std::vector<float>& values) {
  auto started = Runtime::start(config);
  ASSERT_TRUE(started.ok()) << started.status();
  JobOfThread job(*std::move(started));
  manual_seed(config.is_newcomer ? 8 : 3);
  Net net;
  DistributedOptimizer optimizer(
      std::make_unique<optim::Adam>(net.named_parameters(),
                                    optim::AdamOptions()),
      {.shard_updates = shards});
  int step = 0;
  int last = 0;
  State state(net, optimizer);
  state.keep("step", step);
  state.keep("last", last);
  run(
      state,
      [&] {
        while (last == 0 || step < last) {
          optimizer.zero_grad();
          net.loss(static_cast<std::uint64_t>(step)).backward();
          optimizer.step();
          ++step;
          if (last == 0 && size() == 3) last = step + 5;
          shards ? state.commit() : state.end_step();
        }
      },
      [&] { job.reset(); });
  EXPECT_EQ(step, last);
  values = net.values();
  EXPECT_TRUE(job->stop().ok());
}

class ElasticNewcomers : public ::testing::TestWithParam<bool> {};

TEST_P(ElasticNewcomers, GetTheStateOfTheOthers) {
  transport::RunningServer server(2);
  std::vector<std::vector<float>> values(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      train_with_newcomer(
          config_of(server, rank == 2 ? 100 : rank, 2, rank == 2), GetParam(),
          values[static_cast<std::size_t>(rank)]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(values[1], values[0]);
  EXPECT_EQ(values[2], values[0]);
}

INSTANTIATE_TEST_SUITE_P(Threads, ElasticNewcomers, ::testing::Bool(),
                         [](const auto& shards) {
                           return shards.param ? "Sharded" : "Whole";
                         });

}  // namespace
}  // namespace hvd::elastic
