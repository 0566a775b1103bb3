// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/distributed_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/autograd/reentrant_checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/clip_grad.h"
#include "horovodpp/optim/lr_schedule.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/runtime/global.h"
#include "test/runtime/world.h"
#include "test/support/expect_error.h"

namespace hvd::optim {
namespace {

using ::testing::MatchesRegex;
using transport::LoopbackWorld;

// Two weights that every rank starts with: {1, 2} and {3}.
struct Weights {
  Tensor a = from_vector<float>({1, 2}, {2}).set_requires_grad(true);
  Tensor b = from_vector<float>({3}, {1}).set_requires_grad(true);
  std::vector<nn::NamedTensor> named() const { return {{"a", a}, {"b", b}}; }

  std::unique_ptr<DistributedOptimizer> optimizer(
      Runtime& job, DistributedOptions options = {}) {
    options.runtime = &job;
    return std::make_unique<DistributedOptimizer>(
        std::make_unique<SGD>(named(), SGDOptions{.learning_rate = 1}),
        options);
  }

  // A loss whose gradients are `factor` for a and b.
  Tensor loss(double factor) const { return (a.sum() + b.sum()) * factor; }
};

TEST(DistributedOptimizer, StepsAlongTheMeanOfAllRanksGradients) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    auto optimizer = w.optimizer(job);
    for (int step = 1; step <= 3; ++step) {
      optimizer->zero_grad();
      w.loss(job.topology().rank()).backward();
      optimizer->step();
      EXPECT_EQ(w.a.grad().to_vector<float>(), std::vector<float>({1, 1}));
      EXPECT_EQ(w.b.item<float>(), 3.0f - static_cast<float>(step));
    }
  });
}

// Item 214 of the autograd contract. One rank has already moved, as after
// loading a checkpoint. All continue from its state, with a schedule and
// clipped gradients, and stay equal.
TEST(DistributedOptimizer, GoesOnFromTheStateOfOneRank) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    DistributedOptimizer optimizer(
        std::make_unique<AdamW>(std::vector<ParameterGroup<AdamWOptions>>{
            {.parameters = {{"a", w.a}}, .options = {.learning_rate = 0.5}},
            {.parameters = {{"b", w.b}}, .options = {.amsgrad = true}}}),
        {.runtime = &job});
    if (job.topology().rank() == 1) {
      Weights other;
      AdamW alone(std::vector<ParameterGroup<AdamWOptions>>{
          {.parameters = {{"a", other.a}}, .options = {.learning_rate = 0.25}},
          {.parameters = {{"b", other.b}}, .options = {.amsgrad = true}}});
      other.loss(2).backward();
      alone.step();
      NoGrad no_grad;
      w.a.copy_(other.a);
      w.b.copy_(other.b);
      optimizer.load_state_dict(alone.state_dict());
    }
    broadcast_parameters(w.named(), 1, {.runtime = &job});
    broadcast_optimizer_state(optimizer, 1, {.runtime = &job});
    EXPECT_EQ(optimizer.learning_rates(), (std::vector<double>{0.25, 1e-3}));
    ASSERT_EQ(optimizer.state().size(), 7u);
    LRScheduler scheduler(optimizer, step_lr({.gamma = 0.5}));
    scheduler.step();
    EXPECT_EQ(optimizer.learning_rate(), 0.125);
    optimizer.zero_grad();
    w.loss(job.topology().rank()).backward();
    optimizer.synchronize();
    clip_grad_norm_({w.a, w.b}, 1.0);
    {
      auto skip = optimizer.skip_synchronize();
      optimizer.step();
    }
    Tensor all = cat({w.a.detach(), w.b.detach()});
    const Tensor mine = all.clone();
    ASSERT_TRUE(job.allreduce_async_(all.tensor_view(),
                                     {.name = "all", .op = ReduceOp::kMax})
                    .wait()
                    .ok());
    EXPECT_EQ(all.to_vector<float>(), mine.to_vector<float>());
    EXPECT_LT(w.a.to_vector<float>()[0], 0.75f);
  });
}

TEST(DistributedOptimizer, DoesNotMoveFrozenParameters) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    w.b.set_requires_grad(false);
    DistributedOptimizer optimizer(
        std::make_unique<SGD>(
            w.named(), SGDOptions{.learning_rate = 0.5, .weight_decay = 1}),
        {.runtime = &job});
    w.loss(1).backward();
    optimizer.step();
    EXPECT_EQ(w.b.item<float>(), 3.0f);
    EXPECT_FALSE(w.b.grad().defined());
    EXPECT_EQ(w.a.to_vector<float>(), std::vector<float>({0, 0.5}));

    // Unfrozen, its gradient is reduced like others; frozen again, it stays.
    w.b.set_requires_grad(true);
    optimizer.zero_grad();
    w.loss(2 * job.topology().rank()).backward();
    optimizer.step();
    EXPECT_EQ(w.b.grad().item<float>(), 1.0f);
    EXPECT_EQ(w.b.item<float>(), 1.0f);
    optimizer.zero_grad();
    w.b.set_requires_grad(false);
    w.loss(1).backward();
    optimizer.step();
    EXPECT_EQ(w.b.item<float>(), 1.0f);
  });
}

TEST(DistributedOptimizer, SharesAnEmptyState) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    auto optimizer = w.optimizer(job);
    if (job.topology().rank() == 1) {
      w.loss(1).backward();
      optimizer->set_learning_rate(0.5);
    } else {
      w.loss(1).backward();
    }
    optimizer->step();
    broadcast_optimizer_state(*optimizer, 0, {.runtime = &job});
    EXPECT_EQ(optimizer->learning_rate(), 1.0);
    EXPECT_TRUE(optimizer->state().empty());
  });
}

TEST(DistributedOptimizer, RefusesAnInvalidStateOnAllRanks) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Tensor w = ones({1}, {.requires_grad = true});
    Adam optimizer({{"\xff", w}});
    w.set_grad(ones({1}));
    optimizer.step();
    EXPECT_THROW(broadcast_optimizer_state(optimizer, 0, {.runtime = &job}),
                 Error);
  });
}

// Item 208.
TEST(DistributedOptimizer, StartsTheReductionDuringBackward) {
  run_world({.size = 1}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    auto optimizer = w.optimizer(job);
    w.loss(1).backward();
    // zero_grad() must not discard gradients in flight.
    EXPECT_ERROR(Error, "before optimizer.step()", optimizer->zero_grad());
    optimizer->step();
    optimizer->zero_grad();
    EXPECT_FALSE(w.a.grad().defined());
  });
}

// Item 210.
TEST(DistributedOptimizer, AParameterThatNoBackwardReachedContributesZeros) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    auto optimizer = w.optimizer(job);
    // Rank 0 reaches both, rank 1 only a.
    (job.topology().rank() == 0 ? w.loss(4) : w.a.sum() * 2).backward();
    optimizer->step();
    EXPECT_EQ(w.a.grad().to_vector<float>(), std::vector<float>({3, 3}));
    EXPECT_EQ(w.b.grad().item<float>(), 2.0f);
  });
}

// Whether gradients of `optimizer` are in flight. If not, sets gradients to
// zeros.
bool is_busy(DistributedOptimizer& optimizer) {
  try {
    optimizer.zero_grad(false);
  } catch (const Error&) {
    return true;
  }
  return false;
}

// Item 210.
TEST(DistributedOptimizer,
     UnreachedParametersAreCompleteAtTheStartOfTheLastBackward) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    auto optimizer = w.optimizer(
        job, {.backward_passes_per_step = 2, .every_backward_counts = true});
    for (int step = 0; step < 2; ++step) {
      const Tensor both = w.loss(4);
      both.backward();
      // Rank 0 reaches both again, rank 1 only a.
      const bool reaches_both = job.topology().rank() == 0;
      const Tensor loss = reaches_both ? w.loss(2) : w.a.sum() * 2;
      loss.register_hook([&](const Tensor&) {
        EXPECT_EQ(is_busy(*optimizer), !reaches_both);
      });
      loss.backward();
      // All gradients are in flight, so another contribution is an error.
      EXPECT_THROW(w.b.sum().backward(), Error);
      optimizer->step();
      // Rank 0 has discarded its first pass.
      EXPECT_EQ(w.a.grad().to_vector<float>(), std::vector<float>({4, 4}));
      EXPECT_EQ(w.b.grad().item<float>(), 3.0f);
      optimizer->zero_grad();
    }
  });
}

TEST(DistributedOptimizer, ParametersThatNoRankUsedStayAsInOneProcess) {
  const SGDOptions sgd = {
      .learning_rate = 0.5, .momentum = 0.5, .weight_decay = 0.25};
  // The ranks that use b, for each step.
  const std::vector<std::vector<bool>> steps = {
      {true, true}, {false, false}, {true, false}, {false, false}};
  const auto loss_of = [](const Weights& w, bool uses_b) {
    const Tensor loss = w.a.sum() * 0.5;
    return uses_b ? loss + w.b.sum() : loss;
  };
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const auto rank = static_cast<std::size_t>(job.topology().rank());
    const std::vector<DistributedOptions> ways = {
        {}, {.groups = 1}, {.bucket_bytes = 0}, {.shard_updates = true}};
    for (DistributedOptions options : ways) {
      options.find_unused_parameters = true;
      options.runtime = &job;
      Weights w;
      Weights alone;
      DistributedOptimizer optimizer(std::make_unique<SGD>(w.named(), sgd),
                                     options);
      SGD one(alone.named(), sgd);
      for (const std::vector<bool>& users : steps) {
        optimizer.zero_grad();
        loss_of(w, users[rank]).backward();
        optimizer.step();
        one.zero_grad();
        ((loss_of(alone, users[0]) + loss_of(alone, users[1])) * 0.5)
            .backward();
        one.step();
        EXPECT_EQ(w.b.grad().defined(), users[0] || users[1]);
        EXPECT_EQ(w.a.to_vector<float>(), alone.a.to_vector<float>());
        EXPECT_EQ(w.b.to_vector<float>(), alone.b.to_vector<float>());
      }
    }
  });
}

TEST(DistributedOptimizer, ABackwardOfEachLossCountsForTheOthers) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    auto optimizer = w.optimizer(
        job, {.backward_passes_per_step = 2, .every_backward_counts = true});
    const Tensor of_b = w.b.sum() * 3;
    w.a.sum().backward();
    // A backward of another model does not matter here.
    ones({1}, {.requires_grad = true}).sum().backward();
    of_b.register_hook(
        [&](const Tensor&) { EXPECT_TRUE(is_busy(*optimizer)); });
    of_b.backward();
    optimizer->step();
    EXPECT_EQ(w.b.item<float>(), 0.0f);

    // If not every backward counts, one is enough for each.
    Weights other;
    auto each = other.optimizer(job, {.name = "each"});
    other.a.sum().backward();
    other.b.sum().backward();
    each->step();
    EXPECT_EQ(other.b.item<float>(), 2.0f);
  });
}

TEST(DistributedOptimizer, AReentrantRegionMayReachMoreThanItsBackwardSays) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    auto optimizer = w.optimizer(job, {.every_backward_counts = true});
    const bool reaches_both = job.topology().rank() == 0;
    for (int step = 0; step < 2; ++step) {
      const Tensor x = ones({1}, {.requires_grad = true});
      const Tensor loss = autograd::checkpoint_reentrant(
                              [&](const std::vector<Tensor>& in) {
                                const Tensor own = w.a.sum() * 2;
                                const Tensor all =
                                    reaches_both ? own + w.b.sum() * 4 : own;
                                return std::vector<Tensor>{all + in[0]};
                              },
                              {x})[0]
                              .sum();
      loss.register_hook(
          [&](const Tensor&) { EXPECT_FALSE(is_busy(*optimizer)); });
      loss.backward();
      EXPECT_TRUE(w.b.grad().defined());  // Zeros, if it was not reached.
      optimizer->step();
      EXPECT_EQ(w.a.grad().to_vector<float>(), std::vector<float>({2, 2}));
      EXPECT_EQ(w.b.grad().item<float>(), 2.0f);
      optimizer->zero_grad();
    }
    // Backward calls work without the optimizer.
    optimizer.reset();
    w.a.sum().backward();
    EXPECT_FALSE(w.b.grad().defined());
  });
}

TEST(DistributedOptimizer, SkipSynchronizeEndsWithItsScope) {
  run_world({.size = 1}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    auto optimizer = w.optimizer(job);
    { const auto skip = optimizer->skip_synchronize(); }
    w.loss(1).backward();
    EXPECT_NO_THROW(optimizer->step());
    EXPECT_EQ(w.b.item<float>(), 2.0f);
  });
}

// Item 211.
TEST(DistributedOptimizer, SynchronizedGradientsMayBeChangedBeforeTheStep) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    auto optimizer = w.optimizer(job, {.op = ReduceOp::kSum});
    w.loss(1).backward();
    optimizer->synchronize();
    EXPECT_EQ(w.b.grad().item<float>(), 2.0f);
    w.b.grad().fill_(0.5);
    {
      const auto skip = optimizer->skip_synchronize();
      optimizer->step();
    }
    EXPECT_EQ(w.b.item<float>(), 2.5f);

    // Without skip_synchronize() a sum is not reduced again either.
    optimizer->zero_grad();
    w.loss(1).backward();
    optimizer->synchronize();
    optimizer->step();
    EXPECT_EQ(w.b.grad().item<float>(), 2.0f);
    EXPECT_EQ(w.b.item<float>(), 0.5f);

    // The next step reduces as usual.
    optimizer->zero_grad();
    w.loss(1).backward();
    optimizer->step();
    EXPECT_EQ(w.b.item<float>(), -1.5f);
  });
}

TEST(DistributedOptimizer, PredivisionKeepsTheMean) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    auto optimizer = w.optimizer(job, {.gradient_predivide_factor = 2.0});
    w.loss(1 + 2 * job.topology().rank()).backward();
    optimizer->step();
    EXPECT_EQ(w.a.grad().to_vector<float>(), std::vector<float>({2, 2}));
  });
}

// Item 209.
TEST(DistributedOptimizer, AddsUpThePassesOfAStep) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    auto optimizer = w.optimizer(job, {.backward_passes_per_step = 2});
    w.loss(1).backward();
    optimizer->zero_grad(
        false);  // No gradient is in flight after the first pass.
    w.loss(10).backward();
    optimizer->step();
    EXPECT_EQ(w.b.grad().item<float>(), 10.0f);

    optimizer->zero_grad();
    w.loss(1).backward();
    w.loss(2).backward();
    EXPECT_ERROR(Error,
                 "Gradients were computed more than "
                 "backward_passes_per_step times before call to step()",
                 w.loss(3).backward());
    optimizer->step();
    EXPECT_EQ(w.b.grad().item<float>(), 3.0f);
  });
}

// As in a GAN: the loss of `a` passes through `b`.
TEST(DistributedOptimizer, NamesTheOtherLossThatReachesItsParameters) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    DistributedOptimizer of_b(
        std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"b", w.b}},
                              SGDOptions{.learning_rate = 1}),
        {.runtime = &job});
    w.loss(1).backward();
    EXPECT_ERROR(Error, "freeze the parameter in that backward",
                 w.b.sum().backward());
    EXPECT_ERROR(Error, "freeze them in its backward", of_b.zero_grad());
    of_b.step();

    w.b.set_requires_grad(false);
    w.loss(1).backward();
    w.b.set_requires_grad(true);
    of_b.zero_grad();
    w.b.sum().backward();
    of_b.step();
    EXPECT_EQ(w.b.grad().item<float>(), 1.0f);
  });
}

TEST(DistributedOptimizer, ASharedWeightIsHandedOverOnce) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    auto optimizer = w.optimizer(job);
    (w.a.sum() + (w.a * w.a).sum() + w.b.sum() * w.a.sum()).backward();
    optimizer->step();
    EXPECT_EQ(w.a.grad().to_vector<float>(), std::vector<float>({6, 8}));
  });
}

TEST(DistributedOptimizer, RefusesInvalidOptions) {
  run_world({.size = 1}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    EXPECT_THROW(w.optimizer(job, {.backward_passes_per_step = 0}), Error);
    EXPECT_THROW(w.optimizer(job, {.gradient_predivide_factor = -1}), Error);
    EXPECT_THROW(w.optimizer(job, {.every_backward_counts = true,
                                   .find_unused_parameters = true}),
                 InvalidArgument);
    EXPECT_THROW(DistributedOptimizer(nullptr, {.runtime = &job}), Error);
    EXPECT_THROW(
        DistributedOptimizer(std::make_unique<SGD>(w.named(), SGDOptions{})),
        Error);
  });
}

TEST(DistributedOptimizer, AGradientClearedInFlightIsAnErrorAndNoCrash) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    auto optimizer = w.optimizer(job);
    w.loss(1).backward();
    nn::zero_grad(w.named(), /*set_to_none=*/true);
    // Names the parameter that backward reached first; the order depends on the
    // compiler.
    const Status status = error_of([&] { optimizer->step(); });
    EXPECT_THAT(std::string(status.message()),
                MatchesRegex("the gradient of '[ab]' was replaced.*"));
    EXPECT_EQ(w.b.item<float>(), 3.0f);

    w.loss(1).backward();
    optimizer->step();
    EXPECT_EQ(w.b.item<float>(), 2.0f);
  });
}

TEST(DistributedOptimizer, NeverStepsAlongGradientsThatCouldNotBeReduced) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    const Tensor weight =
        ones({2 + job.topology().rank()}).set_requires_grad(true);
    DistributedOptimizer optimizer(
        std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"w", weight}},
                              SGDOptions{.learning_rate = 1}),
        {.runtime = &job});
    weight.sum().backward();
    for (int attempt = 0; attempt < 2; ++attempt) {
      EXPECT_ERROR(Error, "gradient of 'w'", optimizer.step());
    }
    EXPECT_EQ(weight.sum().item<float>(),
              static_cast<float>(2 + job.topology().rank()));
  });
}

TEST(DistributedOptimizer, TwoOptimizersWithNamesOfTheirOwnDoNotMeet) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Weights generator;
    Weights critic;
    auto first = generator.optimizer(job, {.name = "generator"});
    auto second = critic.optimizer(job, {.name = "critic"});
    generator.loss(1).backward();
    critic.loss(2).backward();
    second->step();
    first->step();
    EXPECT_EQ(generator.b.item<float>(), 2.0f);
    EXPECT_EQ(critic.b.item<float>(), 1.0f);
  });
}

TEST(DistributedOptimizer, OfAProcessSetStepsAlongTheMeanOfItsRanks) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    const int rank = job.topology().rank();
    const auto set = job.add_process_set_async({0, 1}).wait();
    ASSERT_EQ(set.status(), absl::OkStatus());
    Weights w;
    const Tensor state = from_vector<float>({static_cast<float>(rank)}, {1});
    const BroadcastParametersOptions of_set = {.process_set = *set,
                                               .runtime = &job};
    if (rank == 2) {
      EXPECT_THROW(w.optimizer(job, {.process_set = *set}), Error);
      EXPECT_THROW(broadcast_parameters({{"state", state}}, 1, of_set), Error);
    } else {
      broadcast_parameters({{"state", state}}, 1, of_set);
      EXPECT_EQ(state.item<float>(), 1.0f);
      auto optimizer = w.optimizer(job, {.process_set = *set});
      w.loss(1 + 2 * rank).backward();
      optimizer->step();
      EXPECT_EQ(w.b.grad().item<float>(), 2.0f);  // (1 + 3) / 2
      EXPECT_EQ(w.b.item<float>(), 1.0f);         // 3 - 2
    }
    ASSERT_EQ(job.barrier_async().wait(), absl::OkStatus());
  });
}

TEST(DistributedOptimizer, RemovesItsHooksAtItsEnd) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Weights w;
    w.optimizer(job).reset();
    w.loss(job.topology().rank()).backward();
    EXPECT_EQ(w.b.grad().item<float>(),
              static_cast<float>(job.topology().rank()));
  });
}

TEST(BroadcastParameters, MakesReplicasEqual) {
  run_world({.size = 3}, [](Runtime& job, LoopbackWorld&) {
    const ThreadRuntime scope(job);
    manual_seed(static_cast<std::uint64_t>(job.topology().rank()));
    nn::Sequential model(std::make_shared<nn::Linear>(4, 3),
                         std::make_shared<nn::ReLU>(),
                         std::make_shared<nn::Linear>(3, 2));
    broadcast_parameters(model.named_parameters(), 1);
    for (const auto& [name, tensor] : model.named_parameters()) {
      const auto all =
          job.allgather_async(
                 tensor.reshape({1, tensor.num_elements()}).tensor_view(),
                 {.name = name})
              .wait();
      ASSERT_EQ(all.status(), absl::OkStatus());
      const std::vector<float> mine = tensor.to_vector<float>();
      for (std::size_t i = 0; i < 3 * mine.size(); ++i) {
        EXPECT_EQ(all->data<float>()[i], mine[i % mine.size()]);
      }
    }
  });
}

}  // namespace
}  // namespace hvd::optim
