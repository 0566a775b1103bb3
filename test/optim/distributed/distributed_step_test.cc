// SPDX-License-Identifier: Apache-2.0
// DistributedOptimizer::step(options) between backward and the step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/autograd/warning.h"
#include "horovodpp/core/error.h"
#include "horovodpp/optim/clip_grad.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"
#include "test/support/expect_error.h"

namespace hvd::optim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Weights {0, 0} and {0}, and an optimizer of this rank.
struct StepModel {
  explicit StepModel(const DistributedOptions& options = {})
      : optimizer(std::make_unique<SGD>(
                      std::vector<nn::NamedTensor>{{"a", a}, {"b", b}},
                      SGDOptions{.learning_rate = 1}),
                  options) {}

  // A loss with these gradients.
  Tensor loss(double a0, double a1, double b0) const {
    return (a * from_vector<double>({a0, a1}, {2})).sum() + b.sum() * b0;
  }
  std::vector<double> weights() const {
    return cat({a.detach(), b.detach()}).to_vector<double>();
  }

  Tensor a = zeros({2}, {.dtype = DType::kF64, .requires_grad = true});
  Tensor b = zeros({1}, {.dtype = DType::kF64, .requires_grad = true});
  DistributedOptimizer optimizer;
};

TEST(DistributedStep, ClipsByTheNormOfTheReducedGradients) {
  run_ranks(3, [] {
    StepModel m;
    // Means: 2, 3 and 6, of norm 7.
    m.loss(2 * rank(), 3 * rank(), 6 * rank()).backward();
    const StepResult result = m.optimizer.step({.max_norm = 3.5});
    EXPECT_TRUE(result.stepped);
    EXPECT_DOUBLE_EQ(*result.norm, 7);
    const std::vector<double> weights = m.weights();
    EXPECT_NEAR(weights[0], -1, 1e-6);
    EXPECT_NEAR(weights[1], -1.5, 1e-6);
    EXPECT_NEAR(weights[2], -3, 1e-6);

    m.optimizer.zero_grad();
    m.loss(2, 3, 6).backward();
    EXPECT_DOUBLE_EQ(*m.optimizer.step({.max_norm = 8}).norm, 7);
    EXPECT_THAT(m.a.grad().to_vector<double>(), ElementsAre(2, 3));

    m.optimizer.zero_grad();
    m.loss(1, 1, 1).backward();
    EXPECT_FALSE(m.optimizer.step(DistributedStepOptions{}).norm.has_value());
  });
}

// The same bits as step by step, on as many ranks as a gradient has shares, and
// on more.
TEST(DistributedStep, EqualsTheClassicProtocol) {
  for (const int ranks : {1, 2, 4}) {
    run_ranks(ranks, [] {
      StepModel one;
      StepModel other({.name = "other"});
      GradScaler scaler({.init_scale = 1024});
      GradScaler classic({.init_scale = 1024});
      for (int step = 1; step <= 3; ++step) {
        const auto loss_of = [&](const StepModel& m) {
          return m.loss(0.1 * step + rank(), 7.3 / step, 0.3 * rank());
        };
        one.optimizer.zero_grad();
        scaler.scale(loss_of(one)).backward();
        one.optimizer.step({.max_norm = 1.5, .grad_scaler = &scaler});

        other.optimizer.zero_grad();
        classic.scale(loss_of(other)).backward();
        classic.unscale_(other.optimizer);
        clip_grad_norm_({other.a, other.b}, 1.5);
        classic.step(other.optimizer);
        classic.update();
      }
      const std::vector<double> expected = other.weights();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(one.weights()[i], expected[i], 1e-14);
      }
    });
  }
}

TEST(DistributedStep, AllRanksLeaveAStepOutIfOneOverflows) {
  run_ranks(3, [] {
    StepModel m;
    GradScaler scaler({.init_scale = 4});
    scaler.scale(m.loss(1, rank() == 1 ? kInfinite : 1, 1)).backward();
    const StepResult result = m.optimizer.step({.grad_scaler = &scaler});
    EXPECT_FALSE(result.stepped);
    EXPECT_EQ(scaler.factor(), 2);
    EXPECT_THAT(m.weights(), ElementsAre(0, 0, 0));

    m.optimizer.zero_grad();
    scaler.scale(m.loss(1, 1, 1)).backward();
    EXPECT_TRUE(m.optimizer.step({.grad_scaler = &scaler}).stepped);
    EXPECT_THAT(m.weights(), ElementsAre(-1, -1, -1));
  });
}

// Each rank has its own gradients and norms, but all agree on whether to step.
TEST(DistributedStep, RanksAgreeOnOverflowOfGradientsThatAreNotReduced) {
  run_ranks(2, [] {
    // Prevents any backward from being the last one of a step.
    StepModel m({.backward_passes_per_step = 8});
    GradScaler scaler({.init_scale = 1});
    for (const double worst : {1.0, std::nan("")}) {
      m.optimizer.zero_grad();
      m.loss(3, 4, rank() == 1 ? worst * 12 : 0).backward();
      const auto skip = m.optimizer.skip_synchronize();
      const StepResult result =
          m.optimizer.step({.max_norm = 1, .grad_scaler = &scaler});
      EXPECT_EQ(result.stepped, worst == 1.0);
      if (!result.stepped) continue;
      EXPECT_DOUBLE_EQ(*result.norm, rank() == 1 ? 13 : 5);
    }
    EXPECT_NEAR(m.weights()[0], rank() == 1 ? -3.0 / 13 : -0.6, 1e-6);
  });
}

TEST(DistributedStep, NonFiniteGradientsWithoutAScalerAreAnErrorOnAllRanks) {
  run_ranks(2, [] {
    StepModel m;
    m.loss(1, rank() == 1 ? kInfinite : 1, 1).backward();
    EXPECT_EQ(error_of([&] { m.optimizer.step({.max_norm = 1}); }).code(),
              StatusCode::kOutOfRange);
    EXPECT_THAT(m.weights(), ElementsAre(0, 0, 0));
    m.optimizer.zero_grad();
    m.loss(3, 4, 0).backward();
    EXPECT_DOUBLE_EQ(*m.optimizer.step({.max_norm = 1}).norm, 5);
  });
}

// Large numbers are no overflow, even if their squares are not finite.
TEST(DistributedStep, DistinguishesLargeFromInfiniteGradients) {
  run_ranks(2, [] {
    StepModel m;
    GradScaler scaler({.init_scale = 1});
    m.loss(1e200, 1, 1).backward();
    EXPECT_TRUE(m.optimizer.step({.grad_scaler = &scaler}).stepped);
    EXPECT_EQ(m.weights()[0], -1e200);
  });
}

TEST(DistributedStep, OneScalerServesTwoOptimizers) {
  run_ranks(2, [] {
    StepModel first({.name = "first"});
    StepModel second({.name = "second"});
    GradScaler scaler({.init_scale = 4});
    scaler.scale(first.loss(kInfinite, 1, 1)).backward();
    scaler.scale(second.loss(1, 1, 1)).backward();
    const DistributedStepOptions options = {.grad_scaler = &scaler,
                                            .update_scaler = false};
    EXPECT_FALSE(first.optimizer.step(options).stepped);
    EXPECT_TRUE(second.optimizer.step(options).stepped);
    EXPECT_EQ(scaler.factor(), 4);
    scaler.update();
    EXPECT_EQ(scaler.factor(), 2);
    EXPECT_THAT(second.weights(), ElementsAre(-1, -1, -1));
  });
}

// Rank r has r samples, whose gradients are numbered through: 1 | 2, 3 | 4, 5,
// 6.
TEST(DistributedStep, WeightedByTheSamplesOfEachRank) {
  for (const double predivide : {1.0, 4.0}) {
    run_ranks(4, [&] {
      StepModel m({.gradient_predivide_factor = predivide});
      double sum = 0;
      int next = 1;
      for (int r = 0; r <= rank(); ++r) {
        for (int sample = 0; sample < r; ++sample, ++next) {
          if (r == rank()) sum += next;
        }
      }
      const auto weight = static_cast<double>(rank());
      for (int step = 1; step <= 2; ++step) {
        m.optimizer.zero_grad();
        // A rank without samples reaches no parameter.
        if (rank() > 0) m.loss(sum, 2 * sum, 0).backward();
        m.optimizer.step({.weight = weight});
        EXPECT_NEAR(m.weights()[0], -3.5 * step, 1e-12);
        EXPECT_NEAR(m.weights()[1], -7.0 * step, 1e-12);
      }
    });
  }
}

TEST(DistributedStep, WeightsScalesAndClipsAtOnce) {
  run_ranks(2, [] {
    StepModel m;
    GradScaler scaler({.init_scale = 256});
    // Means over 1 + 3 samples: 3 and 4.
    scaler.scale(m.loss(rank() == 0 ? 0 : 12, rank() == 0 ? 16 : 0, 0))
        .backward();
    const StepResult result =
        m.optimizer.step({.max_norm = 2.5,
                          .grad_scaler = &scaler,
                          .weight = rank() == 0 ? 1.0 : 3.0});
    EXPECT_DOUBLE_EQ(*result.norm, 5);
    EXPECT_NEAR(m.weights()[0], -1.5, 1e-6);
    EXPECT_NEAR(m.weights()[1], -2, 1e-6);
  });
}

TEST(DistributedStep, RefusesInvalidOptions) {
  run_ranks(1, [] {
    StepModel m;
    EXPECT_THROW(m.optimizer.step({.max_norm = -1}), Error);
    EXPECT_THROW(m.optimizer.step({.max_norm = std::nan("")}), Error);
    EXPECT_THROW(m.optimizer.step({.weight = -1}), Error);
    EXPECT_THROW(m.optimizer.step({.weight = kInfinite}), Error);
    EXPECT_THROW(m.optimizer.step({.weight = 0}), Error);
    {
      StepModel other({.name = "other"});
      const auto skip = other.optimizer.skip_synchronize();
      EXPECT_THROW(other.optimizer.step({.weight = 1}), Error);
      other.loss(1, 1, 1).backward();
      // Would race with the reduction.
      EXPECT_THROW(other.optimizer.step(), Error);
    }
    StepModel sum({.op = ReduceOp::kSum, .name = "sum"});
    EXPECT_THROW(sum.optimizer.step({.weight = 1}), Error);
    EXPECT_THAT(m.weights(), ElementsAre(0, 0, 0));
  });
}

TEST(DistributedStep, ReducesTheGradientsOfAClosure) {
  run_ranks(3, [] {
    StepModel m;
    for (int step = 1; step <= 2; ++step) {
      const StepResult result = m.optimizer.step({.closure = [&] {
        m.optimizer.zero_grad();
        Tensor loss = m.loss(rank(), 2 * rank(), 1) + 5.0;
        loss.backward();
        return loss;
      }});
      EXPECT_TRUE(result.loss.defined());
      EXPECT_THAT(m.weights(), ElementsAre(-step, -2 * step, -step));
    }
    EXPECT_EQ(m.optimizer.reduced().gradients, 4u);
  });
}

TEST(DistributedStep, WarnsOfASynchronizeThatTheStepDoesNotKnowOf) {
  run_ranks(2, [] {
    StepModel m;
    std::vector<std::string> said;
    const autograd::Warnings scope(
        [&](const std::string& text) { said.push_back(text); });
    m.loss(1, 1, 1).backward();
    m.optimizer.synchronize();
    {
      const auto skip = m.optimizer.skip_synchronize();
      m.optimizer.step();
    }
    m.optimizer.zero_grad();
    m.loss(1, 1, 1).backward();
    m.optimizer.step();
    EXPECT_THAT(said, ElementsAre());
    m.optimizer.zero_grad();
    m.loss(1, 1, 1).backward();
    m.optimizer.synchronize();
    m.optimizer.step();
    EXPECT_THAT(said, ElementsAre(HasSubstr("after optimizer.synchronize()")));
  });
}

}  // namespace
}  // namespace hvd::optim
