// SPDX-License-Identifier: Apache-2.0
// The groups and buckets in which a DistributedOptimizer reduces gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/autograd/warning.h"
#include "horovodpp/core/error.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"
#include "test/support/expect_error.h"

namespace hvd::optim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ThreeWeights {
  std::vector<nn::NamedTensor> named() const {
    return {{"a", a}, {"b", b}, {"c", c}};
  }
  std::unique_ptr<DistributedOptimizer> optimizer(
      const DistributedOptions& options) const {
    return std::make_unique<DistributedOptimizer>(
        std::make_unique<SGD>(named(), SGDOptions{.learning_rate = 1}),
        options);
  }
  // A loss with gradients `factor`, twice and three times that.
  Tensor loss(double factor) const {
    return (a.sum() + b.sum() * 2 + c.sum() * 3) * factor;
  }
  std::vector<float> weights() const {
    return cat({a.detach(), b.detach(), c.detach()}).to_vector<float>();
  }

  Tensor a = zeros({1}, {.requires_grad = true});
  Tensor b = zeros({1}, {.requires_grad = true});
  Tensor c = zeros({1}, {.requires_grad = true});
};

// Item 215.
TEST(DistributedOptions, GroupsChangeNoValues) {
  run_ranks(3, [] {
    const auto weights_with = [](auto groups_of) {
      ThreeWeights m;
      const auto optimizer =
          m.optimizer({.gradient_predivide_factor = 2, .groups = groups_of(m)});
      for (int step = 0; step < 3; ++step) {
        optimizer->zero_grad();
        m.loss(rank()).backward();
        optimizer->step();
      }
      EXPECT_EQ(optimizer->reduced().gradients, 9u);
      return m.weights();
    };
    for (const int number : {0, 1, 2, 3, 7}) {
      EXPECT_THAT(weights_with([&](const ThreeWeights&) { return number; }),
                  ElementsAre(-3, -6, -9))
          << number;
    }
    EXPECT_THAT(weights_with([](const ThreeWeights& m) {
                  return GradientGroups{{m.c, m.a}};
                }),
                ElementsAre(-3, -6, -9));
  });
}

TEST(DistributedOptions, AGroupIsSentWithItsLastMember) {
  run_ranks(2, [] {
    ThreeWeights m;
    const auto optimizer =
        m.optimizer({.groups = {{m.a, m.b}}, .bucket_bytes = 0});
    m.a.sum().backward();
    EXPECT_EQ(optimizer->reduced().gradients, 0u);
    m.c.sum().backward();
    EXPECT_EQ(optimizer->reduced().gradients, 1u);
    m.b.sum().backward();
    EXPECT_EQ(optimizer->reduced().gradients, 3u);
    optimizer->step();
    EXPECT_THAT(m.weights(), ElementsAre(-1, -1, -1));
  });
}

// Each gradient has 4 bytes.
TEST(DistributedOptions, GradientsWaitUntilABucketIsFull) {
  run_ranks(2, [] {
    ThreeWeights m;
    const auto optimizer = m.optimizer({.bucket_bytes = 8});
    for (std::uint64_t step = 0; step < 3; ++step) {
      optimizer->zero_grad();
      // The other rank uses another order.
      (rank() == 0 ? m.a : m.b).sum().backward();
      EXPECT_EQ(optimizer->reduced().gradients, 3 * step);
      EXPECT_THROW(optimizer->zero_grad(), Error);
      (rank() == 0 ? m.b : m.c).sum().backward();
      EXPECT_EQ(optimizer->reduced().gradients, 3 * step + 2);
      (rank() == 0 ? m.c : m.a).sum().backward();
      EXPECT_EQ(optimizer->reduced().gradients, 3 * step + 2);
      EXPECT_THROW(m.a.sum().backward(), Error);
      optimizer->step();
      EXPECT_EQ(optimizer->reduced().gradients, 3 * step + 3);
    }
    EXPECT_THAT(m.weights(), ElementsAre(-3, -3, -3));
  });
}

// A rank that ends its optimizer sends the gradients that only the other rank
// has sent.
TEST(DistributedOptions, AnOptimizerEndsWithGradientsThatWait) {
  run_ranks(2, [] {
    ThreeWeights m;
    auto optimizer = m.optimizer(
        {.bucket_bytes = rank() == 0 ? std::size_t{0} : std::size_t{1} << 20});
    m.loss(1).backward();
    optimizer.reset();
    EXPECT_EQ(m.a.grad().item<float>(), 1.0f);
  });
}

TEST(DistributedOptions, AGradientThatIsWrittenWhileItWaitsIsAnError) {
  run_ranks(2, [] {
    ThreeWeights m;
    const auto optimizer = m.optimizer({.bucket_bytes = std::size_t{1} << 20});
    m.loss(1).backward();
    {
      const NoGrad no_grad;
      m.b.grad().fill_(7);
    }
    EXPECT_THROW(optimizer->step(), Error);
    EXPECT_THAT(m.weights(), ElementsAre(0, 0, 0));
    EXPECT_EQ(optimizer->reduced().gradients, 3u);
  });
}

TEST(DistributedOptions, AGroupGoesOnWithoutFrozenParameters) {
  run_ranks(2, [] {
    ThreeWeights m;
    const auto optimizer = m.optimizer({.groups = {{m.a, m.b, m.c}}});
    for (const bool frozen : {false, true, false}) {
      optimizer->zero_grad();
      m.b.set_requires_grad(!frozen);
      m.loss(1).backward();
      optimizer->step();
    }
    EXPECT_THAT(m.weights(), ElementsAre(-3, -4, -9));
  });
}

// If an optimizer ends, its incomplete groups are not sent, as other ranks may
// send nothing. The name can be used again.
TEST(DistributedOptions, AnIncompleteGroupEndsWithItsOptimizer) {
  run_ranks(2, [] {
    ThreeWeights m;
    auto optimizer = m.optimizer({.groups = {{m.a, m.b}}});
    if (rank() == 0) m.a.sum().backward();
    optimizer.reset();
    m.a.set_grad(Tensor());
    optimizer = m.optimizer({.groups = {{m.a, m.b}}});
    m.loss(1).backward();
    optimizer->step();
    EXPECT_THAT(m.weights(), ElementsAre(-1, -2, -3));
  });
}

TEST(DistributedOptions, RefusesInvalidGroups) {
  run_ranks(1, [] {
    ThreeWeights m;
    const Tensor stranger = zeros({1}, {.requires_grad = true});
    EXPECT_THROW(m.optimizer({.groups = -1}), Error);
    EXPECT_THROW(m.optimizer({.groups = {{m.a, stranger}}}), Error);
    EXPECT_ERROR(Error, "can only appear once in groups. 'b'",
                 m.optimizer({.groups = {{m.a, m.b}, {m.b}}}));
  });
}

// Holds for gradients of earlier passes, and for those that the last pass does
// not reach.
TEST(DistributedOptions, UnsynchronizedGradientsGoWithTheNextPass) {
  for (const bool every_backward_counts : {false, true}) {
    run_ranks(2, [&] {
      ThreeWeights m;
      const auto optimizer = m.optimizer(
          {.every_backward_counts = every_backward_counts, .bucket_bytes = 0});
      for (std::uint64_t step = 0; step < 2; ++step) {
        optimizer->zero_grad();
        // Ranks differ in the number of passes.
        for (int pass = 0; pass < 1 + 2 * rank(); ++pass) {
          const auto accumulating = optimizer->no_sync();
          m.loss(1).backward();
          EXPECT_EQ(optimizer->reduced().gradients, 3 * step);
        }
        (m.a.sum() + m.b.sum()).backward();
        EXPECT_EQ(optimizer->reduced().gradients,
                  3 * step + (every_backward_counts ? 3 : 2));
        {
          const auto accumulating = optimizer->no_sync();
          EXPECT_THROW(m.a.sum().backward(), Error);
        }
        optimizer->step();
        EXPECT_EQ(optimizer->reduced().gradients, 3 * step + 3);
      }
      EXPECT_THAT(m.weights(), ElementsAre(-6, -10, -12));
    });
  }
}

TEST(DistributedOptions, AStepReducesAccumulatedGradients) {
  run_ranks(2, [] {
    ThreeWeights m;
    auto optimizer = m.optimizer({});
    {
      const auto accumulating = optimizer->no_sync();
      m.loss(rank()).backward();
      optimizer->step();
      EXPECT_THAT(m.weights(), ElementsAre(-0.5f, -1, -1.5f));
      optimizer.reset();  // Before the guard that stops counting.
    }
  });
}

TEST(DistributedOptions, TheMeanOverPasses) {
  for (const ReduceOp op : {ReduceOp::kAverage, ReduceOp::kSum}) {
    run_ranks(2, [&] {
      ThreeWeights m;
      const auto optimizer = m.optimizer(
          {.op = op, .backward_passes_per_step = 4, .average_passes = true});
      for (int pass = 0; pass < 4; ++pass) m.loss(pass).backward();
      optimizer->step();
      const float ranks = op == ReduceOp::kSum ? 2 : 1;
      EXPECT_THAT(m.weights(),
                  ElementsAre(-1.5f * ranks, -3 * ranks, -4.5f * ranks));
    });
  }
}

TEST(DistributedOptions, RefusesAParameterThatAnotherOptimizerReduces) {
  run_ranks(2, [] {
    ThreeWeights m;
    auto first = m.optimizer({.name = "first"});
    const Status status = error_of([&] {
      DistributedOptimizer second(
          std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"mine", m.b}},
                                SGDOptions{.learning_rate = 1}),
          {.name = "second"});
    });
    EXPECT_THAT(status.message(), HasSubstr("'mine' is reduced by another"));
    EXPECT_THAT(status.message(), HasSubstr("'first'"));
    first.reset();
    first = m.optimizer({.name = "second"});
    m.loss(1).backward();
    first->step();
    EXPECT_THAT(m.weights(), ElementsAre(-1, -2, -3));
  });
}

TEST(DistributedOptions, TheOptimizerOfALostJobClaimsNoParameter) {
  ThreeWeights m;
  auto first = run_ranks(1, [&] { return m.optimizer({}); });
  auto second = run_ranks(1, [&] { return m.optimizer({}); });
  first.clear();  // Must not remove the other claim.
  run_ranks(1, [&] { EXPECT_NO_THROW(m.optimizer({})); });
}

// From the next zero_grad() on its gradient is handed over as soon as it is
// complete.
TEST(DistributedOptions, AParameterThatThawsGetsItsHooks) {
  run_ranks(2, [] {
    ThreeWeights m;
    m.c.set_requires_grad(false);
    const auto optimizer = m.optimizer({.bucket_bytes = 0});
    m.loss(rank()).backward();
    optimizer->step();
    m.c.set_requires_grad(true);
    optimizer->zero_grad();
    m.loss(2 * rank()).backward();
    EXPECT_EQ(optimizer->reduced().gradients, 5u);
    EXPECT_THROW(m.c.sum().backward(), Error);
    optimizer->step();
    EXPECT_THAT(m.weights(), ElementsAre(-1.5f, -3, -3));
  });
}

TEST(DistributedOptions, AGradientWrittenInFlightIsAnError) {
  run_ranks(2, [] {
    ThreeWeights m;
    const auto optimizer = m.optimizer({});
    m.loss(1).backward();
    m.b.grad().mul_(2);
    EXPECT_ERROR(Error, "'b' was written while it was", optimizer->step());
    EXPECT_THAT(m.weights(), ElementsAre(0, 0, 0));
  });
}

TEST(DistributedOptions, PassesCanBeSetBetweenSteps) {
  run_ranks(2, [] {
    ThreeWeights m;
    const auto optimizer = m.optimizer({});
    const auto set_passes = [&](int passes) {
      optimizer->set_backward_passes_per_step(passes);
    };
    set_passes(2);
    m.loss(1).backward();
    EXPECT_NO_THROW(m.loss(1).backward());
    EXPECT_ERROR(Error, "gradients are under way", set_passes(1));
    optimizer->step();
    EXPECT_THAT(m.weights(), ElementsAre(-2, -4, -6));
    EXPECT_ERROR(Error, "it must be at least 1", set_passes(0));
    set_passes(1);
    optimizer->zero_grad();
    m.loss(1).backward();
    EXPECT_THROW(m.loss(1).backward(), Error);
    optimizer->step();
    EXPECT_THAT(m.weights(), ElementsAre(-3, -6, -9));
    const auto averaging = [] {
      ThreeWeights other;
      const auto result =
          other.optimizer({.average_passes = true, .name = "b"});
      result->set_backward_passes_per_step(2);
    };
    EXPECT_THROW(averaging(), Error);
  });
}

// As in Horovod, whose handles are cleared.
TEST(DistributedOptions, AStepThatHasBegunEndsWithAStateThatIsLoaded) {
  run_ranks(2, [] {
    ThreeWeights m;
    const auto optimizer = m.optimizer({.groups = 1});
    const nn::StateDict state = optimizer->state_dict();
    m.loss(rank()).backward();
    EXPECT_THROW(optimizer->zero_grad(), Error);
    optimizer->load_state_dict(state);
    optimizer->zero_grad();
    m.loss(1).backward();
    optimizer->step();
    EXPECT_THAT(m.weights(), ElementsAre(-1, -2, -3));
  });
}

TEST(DistributedOptions, AStepAfterSynchronizeWarnsOnceAndDoesNotReduceAgain) {
  run_ranks(2, [] {
    std::vector<std::string> said;
    const autograd::Warnings scope(
        [&](const std::string& text) { said.push_back(text); });
    ThreeWeights m;
    const auto optimizer = m.optimizer({.op = ReduceOp::kSum});
    for (int step = 0; step < 2; ++step) {
      optimizer->zero_grad();
      m.loss(1).backward();
      optimizer->synchronize();
      optimizer->step();
    }
    EXPECT_THAT(m.weights(), ElementsAre(-4, -8, -12));
    ASSERT_EQ(said.size(), 1u);
    EXPECT_THAT(said[0], HasSubstr("optimizer.step() called without "
                                   "optimizer.skip_synchronize() context after "
                                   "optimizer.synchronize()."));
  });
}

}  // namespace
}  // namespace hvd::optim
