// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/decentralized_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"
#include "horovodpp/runtime/runtime.h"
#include "test/autograd/support.h"

namespace hvd::optim {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;
using Numbers = std::vector<double>;

std::unique_ptr<Optimizer> sgd(const Tensor& w, double rate) {
  return std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"w", w}},
                               SGDOptions{.learning_rate = rate});
}

// A step of `optimizer` along `gradient`.
void step(DecentralizedOptimizer& optimizer, const Tensor& w,
          const Numbers& gradient) {
  w.set_grad(constant(gradient, w.shape()));
  optimizer.step();
}

double spread(const std::vector<Numbers>& all, std::size_t i) {
  const auto by_element = [i](const Numbers& a, const Numbers& b) {
    return a[i] < b[i];
  };
  const auto [low, high] =
      std::minmax_element(all.begin(), all.end(), by_element);
  return (*high)[i] - (*low)[i];
}

double mean(const std::vector<Numbers>& all, std::size_t i) {
  double sum = 0;
  for (const Numbers& each : all) sum += each[i];
  return sum / static_cast<double>(all.size());
}

// Ranks with different weights and no gradients converge to their mean, which
// stays the same.
TEST(RingAverage, ConvergesToTheMean) {
  for (const int ranks : {1, 2, 3, 4, 6}) {
    std::vector<Numbers> before;
    for (int r = 0; r < ranks; ++r) before.push_back({1.0 + r * r, -3.0 * r});
    double last = spread(before, 0);
    for (const int steps : {1, 4, 40}) {
      const auto after = run_ranks(ranks, [&] {
        const Tensor w =
            hvd::leaf(before[static_cast<std::size_t>(rank())], {2});
        DecentralizedOptimizer optimizer(sgd(w, 0.0), ring_average());
        for (int s = 0; s < steps; ++s) step(optimizer, w, {1, 1});
        return values(w);
      });
      for (const std::size_t i : {0u, 1u}) {
        EXPECT_NEAR(mean(after, i), mean(before, i), 1e-12);
      }
      EXPECT_LE(spread(after, 0), last);
      last = spread(after, 0);
      if (ranks <= 3) {
        EXPECT_EQ(last, 0);
      }
    }
    EXPECT_LT(last, 1e-3);
  }
}

// One rank's weights reach only its neighbors in a step.
TEST(RingAverage, ReachesNeighboursOnly) {
  const auto after = run_ranks(5, [] {
    const Tensor w = hvd::leaf({rank() == 2 ? 3.0 : 0.0}, {1});
    DecentralizedOptimizer optimizer(sgd(w, 0.0), ring_average());
    step(optimizer, w, {1});
    return values(w)[0];
  });
  EXPECT_THAT(after, ElementsAre(0, 1, 1, 1, 0));
}

TEST(RingAverage, TakesWeightsOfSeveralTypes) {
  run_ranks(3, [] {
    const Tensor a = hvd::leaf({1.0 * rank()}, {1});
    const Tensor b = full({2, 3}, 2.0 * rank(), {.requires_grad = true});
    const Tensor none = zeros({0, 3}, {.requires_grad = true});
    DecentralizedOptimizer optimizer(
        std::make_unique<SGD>(
            std::vector<nn::NamedTensor>{{"a", a}, {"b", b}, {"none", none}},
            SGDOptions{.learning_rate = 0}),
        ring_average());
    optimizer.step();
    EXPECT_THAT(values(a), ElementsAre(1));
    EXPECT_THAT(b.to_vector<float>(), testing::Each(2));
  });
}

TEST(RingAverage, RefusesModelsThatDiffer) {
  run_ranks(3, [] {
    const Tensor w = zeros({rank() == 0 ? 2 : 3}, {.requires_grad = true});
    DecentralizedOptimizer optimizer(sgd(w, 0.1), ring_average());
    EXPECT_ERROR(Error, "the ranks' models differ", optimizer.step());
  });
}

// Ranks make their own steps, and have equal weights after every third.
TEST(PeriodicAverage, IsTheMeanOfTheRanksWeights) {
  run_ranks(3, [] {
    const Tensor w = hvd::leaf({0, 10}, {2});
    DecentralizedOptimizer optimizer(sgd(w, 1.0),
                                     periodic_average({.every = 3}));
    for (int s = 1; s <= 6; ++s) {
      step(optimizer, w, {1.0 * rank(), -1});
      const double own = s % 3 * rank();
      const double common = s / 3 * 3.0;
      EXPECT_THAT(values(w),
                  Pointwise(DoubleNear(1e-12), {-common - own, 10.0 + s}));
    }
  });
}

// With an outer momentum: the formula of SGD with Nesterov momentum, applied to
// mean changes.
TEST(PeriodicAverage, MovesByAnOuterOptimizer) {
  const auto weight = hvd::leaf({5, 5}, {2});
  SGD outer(
      std::vector<Tensor>{weight},
      SGDOptions{.learning_rate = 0.7, .momentum = 0.9, .nesterov = true});
  for (int round = 0; round < 3; ++round) {
    // Minus the mean change: two steps of ranks 0 and 1 along 1 + rank and 2.
    weight.set_grad(constant({2 * 1.5 * 0.5, 2 * 2 * 0.5}, {2}));
    outer.step();
  }
  const auto all = run_ranks(2, [] {
    const Tensor w = hvd::leaf({5, 5}, {2});
    DecentralizedOptimizer optimizer(
        sgd(w, 0.5),
        periodic_average(
            {.every = 2, .outer_rate = 0.7, .outer_momentum = 0.9}));
    for (int s = 0; s < 6; ++s) step(optimizer, w, {1.0 + rank(), 2});
    return values(w);
  });
  EXPECT_EQ(all[0], all[1]);
  EXPECT_THAT(all[0], Pointwise(DoubleNear(1e-12), values(weight)));
}

// The mean leaves out ranks without data.
TEST(PeriodicAverage, LeavesOutRanksThatHaveJoined) {
  run_ranks(3, [] {
    const Tensor w = hvd::leaf({0}, {1});
    DecentralizedOptimizer optimizer(sgd(w, 1.0),
                                     periodic_average({.every = 1}));
    const int steps = rank() == 0 ? 1 : 3;
    for (int s = 0; s < steps; ++s) step(optimizer, w, {-1.0 - rank()});
    EXPECT_TRUE(current_runtime().join_async().wait().ok());
    // 2, and then twice the mean of 2 and 3.
    if (rank() > 0) {
      EXPECT_THAT(values(w), Pointwise(DoubleNear(1e-12), {7.0}));
    }
  });
}

TEST(PeriodicAverage, GoesOnFromAState) {
  run_ranks(2, [] {
    const auto make = [](const Tensor& w) {
      return std::make_unique<DecentralizedOptimizer>(
          sgd(w, 0.5),
          periodic_average(
              {.every = 2, .outer_rate = 0.7, .outer_momentum = 0.9}));
    };
    const Tensor w = hvd::leaf({5}, {1});
    auto optimizer = make(w);
    const auto go = [&](int from, int to) {
      for (int s = from; s < to; ++s) {
        step(*optimizer, w, {std::sin(s) + rank()});
      }
    };
    // In the middle of a period.
    go(0, 3);
    nn::StateDict saved = optimizer->state_dict();
    for (auto& [name, tensor] : saved) tensor = tensor.clone();
    const Numbers weights = values(w);
    go(3, 8);
    const Numbers expected = values(w);
    {
      const NoGrad no_grad;
      w.copy_(constant(weights, {1}));
    }
    optimizer = make(w);
    optimizer->load_state_dict(saved);
    go(3, 8);
    EXPECT_EQ(values(w), expected);
    nn::StateDict lacking = saved;
    lacking.pop_back();
    EXPECT_ERROR(InvalidArgument, "its state lacks 'w.velocity'",
                 optimizer->load_state_dict(lacking));
    EXPECT_ERROR(InvalidArgument, "it lacks 'strategy.steps'",
                 optimizer->load_state_dict({}));
  });
}

TEST(DecentralizedOptimizer, AveragesAllWeightsWhenAsked) {
  const auto all = run_ranks(4, [] {
    const Tensor w = hvd::leaf({1.0 * rank(), 1}, {2});
    DecentralizedOptimizer optimizer(sgd(w, 1.0), ring_average());
    optimizer.average_weights();
    return values(w);
  });
  for (const Numbers& each : all) EXPECT_THAT(each, ElementsAre(1.5, 1));
}

// If a rank leaves, the others get an error and keep their own weights.
TEST(DecentralizedOptimizer, FailsIfAPeerIsGone) {
  using MakeStrategy = std::unique_ptr<WeightStrategy> (*)();
  for (const MakeStrategy make :
       {MakeStrategy([] { return ring_average(); }),
        MakeStrategy([] { return periodic_average({.every = 1}); })}) {
    std::atomic<int> failed = 0;
    const auto program = [&] {
      const Tensor w = hvd::leaf({0}, {1});
      DecentralizedOptimizer optimizer(sgd(w, 1.0), make());
      step(optimizer, w, {-1.0});
      EXPECT_THAT(values(w), ElementsAre(1));
      if (rank() == 1) current_runtime().abort("a peer that is gone");
      EXPECT_ERROR(Error, "a peer that is gone", step(optimizer, w, {-1.0}));
      EXPECT_THAT(values(w), ElementsAre(2));
      ++failed;
    };
    EXPECT_THROW(run_ranks(3, program), Error);
    EXPECT_EQ(failed, 3);
  }
}

TEST(DecentralizedOptimizer, RefusesInvalidOptions) {
  EXPECT_THROW(periodic_average({.every = 0}), InvalidArgument);
  EXPECT_THROW(periodic_average({.outer_rate = 0}), InvalidArgument);
  EXPECT_THROW(periodic_average({.outer_momentum = 1}), InvalidArgument);
  run_ranks(1, [] {
    const Tensor w = hvd::leaf({0}, {1});
    EXPECT_ERROR(InvalidArgument, "no optimizer to wrap",
                 DecentralizedOptimizer(nullptr, ring_average()));
    EXPECT_ERROR(InvalidArgument, "no strategy to follow",
                 DecentralizedOptimizer(sgd(w, 1), nullptr));
    DecentralizedOptimizer ring(sgd(w, 1), ring_average());
    nn::StateDict state = ring.state_dict();
    EXPECT_NO_THROW(ring.load_state_dict(state));
    state.push_back({"strategy.w.anchor", w.detach()});
    EXPECT_ERROR(InvalidArgument, "remembers nothing",
                 ring.load_state_dict(state));
  });
}

TEST(WeightStrategies, KnowTheirTraffic) {
  EXPECT_EQ(ring_average()->traffic(2), 1);
  EXPECT_EQ(ring_average()->traffic(8), 2);
  EXPECT_DOUBLE_EQ(periodic_average({.every = 10})->traffic(2), 0.1);
}

}  // namespace
}  // namespace hvd::optim
