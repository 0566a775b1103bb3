// SPDX-License-Identifier: Apache-2.0
// The orders in which a program may end its job, its optimizer and its
// gradients. Each mistake is an error, and no mistake touches freed objects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/state_dict.h"
#include "horovodpp/optim/distributed/decentralized_optimizer.h"
#include "horovodpp/optim/distributed/delta_optimizer.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"
#include "test/runtime/world.h"

namespace hvd::optim {
namespace {

using ::testing::HasSubstr;
using transport::LoopbackWorld;

absl::Status failure_of(const std::function<void()>& mistake) {
  try {
    mistake();
  } catch (const Error& error) {
    return error.status();
  }
  return absl::OkStatus();
}

// A weight of a model, and its optimizer in the current job.
struct Training {
  Tensor weight = ones({4}).set_requires_grad(true);
  std::unique_ptr<DistributedOptimizer> optimizer = make_optimizer();

  std::unique_ptr<DistributedOptimizer> make_optimizer() const {
    return std::make_unique<DistributedOptimizer>(
        std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"w", weight}},
                              SGDOptions{.learning_rate = 0.5}));
  }
  void backward() const { (weight * 2).sum().backward(); }
  void step() const {
    optimizer->zero_grad();
    backward();
    optimizer->step();
  }
};

void expect_left(const std::function<void()>& mistake) {
  const absl::Status status = failure_of(mistake);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("this rank has left the job of this object"));
}

// Every test begins and ends without a job in the process.
class Lifetimes : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(init(Config()), absl::OkStatus()); }
  void TearDown() override { shutdown().IgnoreError(); }
};

TEST_F(Lifetimes, BackwardAndStepAfterTheShutdown) {
  Training training;
  training.step();
  ASSERT_EQ(shutdown(), absl::OkStatus());
  training.optimizer->zero_grad();
  expect_left([&] { training.backward(); });
  EXPECT_FALSE(training.weight.grad().defined());
  expect_left([&] { training.optimizer->step(); });
  expect_left([&] { training.optimizer->synchronize(); });
  EXPECT_EQ(training.weight.to_vector<float>(), std::vector<float>(4, 0));
}

TEST_F(Lifetimes, TheShutdownBetweenBackwardAndStep) {
  Training training;
  training.backward();
  ASSERT_EQ(shutdown(), absl::OkStatus());
  expect_left([&] { training.optimizer->step(); });
  expect_left([&] { training.optimizer->step(); });
}

TEST_F(Lifetimes, AnotherJobAfterTheShutdown) {
  Training training;
  training.step();
  ASSERT_EQ(shutdown(), absl::OkStatus());
  ASSERT_EQ(init(Config()), absl::OkStatus());
  // The old optimizer does not join the new job.
  expect_left([&] { training.step(); });
  training.optimizer = training.make_optimizer();
  training.step();
  EXPECT_EQ(training.weight.to_vector<float>(), std::vector<float>(4, -1));
}

TEST_F(Lifetimes, AnOptimizerThroughAReform) {
  Training training;
  training.step();
  current_runtime().abort("is tired");
  EXPECT_TRUE(absl::IsAborted(failure_of([&] { training.step(); })));
  ASSERT_EQ(reform(), absl::OkStatus());
  expect_left([&] { training.backward(); });
  expect_left([&] { training.optimizer->step(); });
  training.optimizer = training.make_optimizer();
  training.step();
}

TEST_F(Lifetimes, DeltasThroughAReform) {
  const Tensor weight = ones({4}).set_requires_grad(true);
  const auto make = [&] {
    return std::make_unique<DeltaOptimizer>(
        std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"w", weight}},
                              SGDOptions{.learning_rate = 0.5}));
  };
  auto optimizer = make();
  weight.sum().backward();
  optimizer->step();
  const std::vector<float> before = weight.to_vector<float>();
  current_runtime().abort("is tired");
  ASSERT_EQ(reform(), absl::OkStatus());
  expect_left([&] { optimizer->step(); });
  EXPECT_EQ(weight.to_vector<float>(), before);
  optimizer.reset();
  optimizer = make();
  optimizer->zero_grad();
  weight.sum().backward();
  optimizer->step();
  EXPECT_NE(weight.to_vector<float>(), before);
}

TEST_F(Lifetimes, AnOptimizerThatRejoinsTheNextJob) {
  Training training;
  training.step();
  training.backward();  // Of a step that is discarded.
  current_runtime().abort("is tired");
  ASSERT_EQ(reform(), absl::OkStatus());
  training.optimizer->rejoin();
  EXPECT_FALSE(training.weight.grad().defined());
  training.step();
  ASSERT_EQ(shutdown(), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(
      failure_of([&] { training.optimizer->rejoin(); })));
  expect_left([&] { training.optimizer->step(); });
  ASSERT_EQ(init(Config()), absl::OkStatus());
  training.optimizer->rejoin();
  training.step();
  training.optimizer->rejoin();  // Also in the same job.
  training.step();
  EXPECT_EQ(training.weight.to_vector<float>(), std::vector<float>(4, -3));
}

TEST_F(Lifetimes, AnOptimizerThatEndsAfterItsJob) {
  auto training = std::make_unique<Training>();
  training->backward();
  ASSERT_EQ(shutdown(), absl::OkStatus());
  const Tensor weight = training->weight;
  training.reset();
  weight.sum().backward();  // Its hooks are gone.
  EXPECT_TRUE(weight.grad().defined());
}

TEST_F(Lifetimes, AnOptimizerThatEndsWithGradientsInFlight) {
  std::latch handed_over(1);
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const ThreadRuntime scope(job);
    Training training;
    const bool throws = job.topology().rank() == 0;
    if (throws) {
      EXPECT_THROW(
          {
            const auto unwound = std::move(training.optimizer);
            training.backward();
            handed_over.count_down();
            throw std::runtime_error("no more data");
          },
          std::runtime_error);
      EXPECT_EQ(training.weight.grad().to_vector<float>(),
                std::vector<float>(4, 2));
      training.weight = Tensor();
    } else {
      handed_over.wait();
      training.step();
    }
  });
}

// Throws for a gradient that the optimizer still holds, and sends when it ends.
class ThrowingObserver : public replica::GradientObserver {
 public:
  void sent(const std::string&) override { throw 42; }
  void reduced(const std::string&) override {}
};

TEST_F(Lifetimes, AnOptimizerWhoseObserverThrows) {
  Training training;
  training.optimizer = nullptr;
  DistributedOptions options = {.bucket_bytes = std::size_t{1} << 20};
  options.observer = std::make_shared<ThrowingObserver>();
  auto optimizer = std::make_unique<DistributedOptimizer>(
      std::make_unique<SGD>(
          std::vector<nn::NamedTensor>{{"w", training.weight}}, SGDOptions()),
      options);
  training.backward();
  optimizer = nullptr;
  EXPECT_EQ(barrier(), absl::OkStatus());
}

TEST_F(Lifetimes, ASkippedSynchronizationThatOutlivesItsOptimizer) {
  Training training;
  const auto skip = training.optimizer->skip_synchronize();
  training.optimizer.reset();
}

// As after reform(): the ranks would drift apart unnoticed.
TEST_F(Lifetimes, ADecentralizedOptimizerOfAnEarlierJobMovesNothing) {
  const Tensor weight = ones({2}).set_requires_grad(true);
  DecentralizedOptimizer optimizer(
      std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"w", weight}},
                            SGDOptions{.learning_rate = 1}),
      ring_average());
  weight.sum().backward();
  EXPECT_EQ(shutdown(), absl::OkStatus());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(failure_of([&] { optimizer.step(); })));
  EXPECT_EQ(weight.sum().item<float>(), 2);
}

TEST_F(Lifetimes, AnOptimizerOfAProcessSetThatIsRemoved) {
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const ThreadRuntime scope(job);
    const auto set = add_process_set({0});
    ASSERT_EQ(set.status(), absl::OkStatus());
    if (job.topology().rank() == 0) {
      const Tensor weight = ones({2}).set_requires_grad(true);
      DistributedOptimizer optimizer(
          std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"w", weight}},
                                SGDOptions{.learning_rate = 1}),
          {.process_set = *set});
      ASSERT_EQ(remove_process_set(*set), absl::OkStatus());
      weight.sum().backward();
      EXPECT_TRUE(
          absl::IsInvalidArgument(failure_of([&] { optimizer.step(); })));
    } else {
      ASSERT_EQ(remove_process_set(*set), absl::OkStatus());
    }
  });
}

TEST_F(Lifetimes, AShutdownWhileAnotherThreadTrains) {
  for (int round = 0; round < 10; ++round) {
    std::latch trains(1);
    std::thread trainer([&] {
      Training training;
      training.step();
      trains.count_down();
      absl::Status end;
      while (end.ok()) end = failure_of([&] { training.step(); });
      EXPECT_TRUE(absl::IsFailedPrecondition(end) || absl::IsCancelled(end))
          << end;
    });
    trains.wait();
    EXPECT_EQ(shutdown(), absl::OkStatus());
    trainer.join();
    ASSERT_EQ(init(Config()), absl::OkStatus());
  }
}

TEST_F(Lifetimes, CallsBeforeInitAreErrors) {
  ASSERT_EQ(shutdown(), absl::OkStatus());
  const Tensor weight = ones({2}).set_requires_grad(true);
  const std::vector<nn::NamedTensor> named = {{"w", weight}};
  for (const std::function<void()>& mistake :
       std::vector<std::function<void()>>{
           [&] { Training training; }, [&] { broadcast_parameters(named, 0); },
           [&] {
             SGD optimizer(named, SGDOptions{.learning_rate = 1});
             broadcast_optimizer_state(optimizer, 0);
           }}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(failure_of(mistake)));
  }
}

TEST_F(Lifetimes, MemoryOfTheArenaAfterTheShutdown) {
  std::vector<float, ArenaAllocator<float>> x(
      100, 1.0f, ArenaAllocator<float>(current_runtime().arena()));
  ASSERT_EQ(shutdown(), absl::OkStatus());
  x.push_back(2.0f);
  EXPECT_EQ(x.back(), 2.0f);
}

// Every rank refuses the list of names as a whole.
TEST_F(Lifetimes, DuplicateNames) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    const ThreadRuntime scope(job);
    const Tensor a = ones({2}).set_requires_grad(true);
    const Tensor b = ones({2}).set_requires_grad(true);
    const std::vector<nn::NamedTensor> twice = {{"w", a}, {"w", b}};
    EXPECT_TRUE(absl::IsInvalidArgument(
        failure_of([&] { broadcast_parameters(twice, 0); })));
    EXPECT_THROW(DistributedOptimizer(std::make_unique<SGD>(
                     twice, SGDOptions{.learning_rate = 1})),
                 InvalidArgument);
    // An optimizer of a user, whose state has duplicate names.
    struct Odd : SGD {
      using SGD::SGD;
      nn::StateDict state_dict() const override {
        return {{"x", ones({1})}, {"x", ones({1})}};
      }
    };
    Odd odd({{"w", a}}, SGDOptions{.learning_rate = 1});
    EXPECT_TRUE(absl::IsInvalidArgument(
        failure_of([&] { broadcast_optimizer_state(odd, 0); })));
    EXPECT_EQ(barrier(), absl::OkStatus());
  });
}

}  // namespace
}  // namespace hvd::optim
