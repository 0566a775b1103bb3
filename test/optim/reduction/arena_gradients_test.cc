// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/reduction/arena_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/checkpoint/checkpoint.h"
#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/nn.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/sgd.h"
#include "test/runtime/world.h"

namespace hvd::optim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using transport::LoopbackWorld;

// Two layers whose gradients are products, and a bias of an odd length.
struct ArenaNet {
  ArenaNet() : first(6, 16), second(16, 5) {
    for (auto& [name, tensor] : first.named_parameters()) {
      named.push_back({"first." + name, tensor});
    }
    for (auto& [name, tensor] : second.named_parameters()) {
      named.push_back({"second." + name, tensor});
    }
    float next = 0.25f;
    for (auto& [name, tensor] : named) {
      NoGrad no_grad;
      float* const elements = tensor.data<float>();
      for (std::int64_t i = 0; i < tensor.num_elements(); ++i) {
        elements[i] = next = 0.9f - next * 1.1f * next;
      }
    }
  }

  Tensor loss(int rank, int step) {
    const Tensor x = full({4, 6}, 0.1 * (rank + 1) + 0.01 * step);
    const Tensor y = second(tanh(first(x)));
    return (y * y).mean();
  }

  std::unique_ptr<DistributedOptimizer> optimizer(
      Runtime& job, DistributedOptions options = {}) const {
    options.runtime = &job;
    return std::make_unique<DistributedOptimizer>(
        std::make_unique<SGD>(
            named, SGDOptions{.learning_rate = 0.1, .momentum = 0.9}),
        options);
  }

  std::vector<float> values() const {
    std::vector<float> all;
    for (const auto& [name, tensor] : named) {
      const std::vector<float> some = tensor.to_vector<float>();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  nn::Linear first;
  nn::Linear second;
  std::vector<nn::NamedTensor> named;
};

bool lies_in(Runtime& job, const Tensor& tensor) {
  return job.arena()->find(tensor.raw_data(), tensor.bytes()).has_value();
}

int number_in(Runtime& job, const ArenaNet& net) {
  int count = 0;
  for (const auto& [name, tensor] : net.named) {
    count += lies_in(job, tensor.grad()) ? 1 : 0;
  }
  return count;
}

TEST(ArenaGradients, AreAdjacentInReverseOrder) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    ArenaNet net;
    auto optimizer = net.optimizer(job);
    const std::byte* first = nullptr;
    for (int step = 0; step < 3; ++step) {
      optimizer->zero_grad();
      net.loss(job.topology().rank(), step).backward();
      optimizer->step();
      ASSERT_EQ(number_in(job, net), 4) << "in step " << step;
      const auto* const weight =
          static_cast<const std::byte*>(net.named[2].tensor.grad().raw_data());
      if (first == nullptr) first = weight;
      EXPECT_EQ(weight, first) << "in step " << step;
      EXPECT_EQ(weight + 16 * 5 * 4, net.named[1].tensor.grad().raw_data());
      EXPECT_EQ(weight + 16 * 5 * 4 + 64,
                net.named[0].tensor.grad().raw_data());
    }
  });
}

// A hook of the leaf sees the gradient before it is accumulated.
TEST(ArenaGradients, AreMadeInTheArenaWithoutACopy) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    ArenaNet net;
    auto optimizer = net.optimizer(job);
    int in_place = 0;
    std::vector<autograd::HookHandle> hooks;
    for (const std::size_t i : {0, 2}) {
      hooks.push_back(net.named[i].tensor.register_hook(
          [&](const Tensor& gradient) { in_place += lies_in(job, gradient); }));
    }
    for (int step = 0; step < 2; ++step) {
      optimizer->zero_grad();
      net.loss(job.topology().rank(), step).backward();
      optimizer->step();
    }
    EXPECT_EQ(in_place, 4);
  });
}

TEST(ArenaGradients, OfAGroupLieTogether) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    ArenaNet net;
    auto optimizer = net.optimizer(
        job, {.groups = {{net.named[0].tensor, net.named[3].tensor}}});
    net.loss(job.topology().rank(), 0).backward();
    optimizer->step();
    const auto* const weight =
        static_cast<const std::byte*>(net.named[0].tensor.grad().raw_data());
    EXPECT_EQ(weight + 6 * 16 * 4, net.named[3].tensor.grad().raw_data());
  });
}

// Changes to gradients between steps. None may change a bit of the result.
enum class BetweenSteps {
  kNothing,
  kZero,
  kReplaced,
  kHeld,
  kNone,
  kFullArena
};

std::vector<float> trained_between(int ranks, BetweenSteps between,
                                   int passes = 1) {
  std::vector<float> result;
  WorldOptions world = {.size = ranks};
  if (between == BetweenSteps::kFullArena) world.config.arena_limit = 1;
  run_world(world, [&](Runtime& job, LoopbackWorld&) {
    ArenaNet net;
    auto optimizer = net.optimizer(job, {.backward_passes_per_step = passes});
    std::vector<Tensor> held;
    const bool is_odd = job.topology().rank() % 2 == 1;
    for (int step = 0; step < 4; ++step) {
      optimizer->zero_grad(between != BetweenSteps::kZero);
      for (auto& [name, tensor] : net.named) {
        if (between == BetweenSteps::kReplaced && is_odd) {
          tensor.set_grad(zeros(tensor.shape()));
        }
        if (between == BetweenSteps::kNone) tensor.set_grad(Tensor());
      }
      for (int pass = 0; pass < passes; ++pass) {
        net.loss(job.topology().rank(), step + pass).backward();
      }
      optimizer->step();
      if (between == BetweenSteps::kHeld && is_odd) {
        const std::vector<float> before =
            net.named[0].tensor.grad().to_vector<float>();
        held.push_back(net.named[0].tensor.grad());
        EXPECT_EQ(held.back().to_vector<float>(), before);
      }
    }
    EXPECT_EQ(number_in(job, net), between == BetweenSteps::kFullArena  ? 0
                                   : !is_odd                            ? 4
                                   : between == BetweenSteps::kReplaced ? 0
                                   : between == BetweenSteps::kHeld     ? 3
                                                                        : 4);
    if (job.topology().rank() == 0) result = net.values();
  });
  return result;
}

TEST(ArenaGradients, KeepResultsBitExact) {
  for (const int ranks : {2, 3}) {
    const std::vector<float> expected =
        trained_between(ranks, BetweenSteps::kFullArena);
    ASSERT_FALSE(expected.empty());
    for (const BetweenSteps between :
         {BetweenSteps::kNothing, BetweenSteps::kZero, BetweenSteps::kReplaced,
          BetweenSteps::kHeld, BetweenSteps::kNone}) {
      EXPECT_EQ(trained_between(ranks, between), expected)
          << ranks << " ranks, " << static_cast<int>(between);
    }
  }
  EXPECT_EQ(trained_between(2, BetweenSteps::kNothing, 3),
            trained_between(2, BetweenSteps::kFullArena, 3));
}

TEST(ArenaGradients, TheLogNamesAGradientOutsideTheArena) {
  WorldOptions options{.size = 2};
  options.config.log.level = telemetry::LogLevel::kDebug;
  ::testing::internal::CaptureStderr();
  run_world(options, [](Runtime& job, LoopbackWorld&) {
    ArenaNet net;
    auto optimizer = net.optimizer(job);
    const Tensor& replaced = net.named[1].tensor;
    for (int step = 0; step < 4; ++step) {
      optimizer->zero_grad();
      if (step > 0) replaced.set_grad(zeros(replaced.shape()));
      net.loss(job.topology().rank(), step).backward();
      optimizer->step();
    }
  });
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::string line =
      "the gradient of 'first.bias' does not lie in the arena any more";
  // Once, on each rank.
  EXPECT_THAT(log, HasSubstr(line));
  const std::size_t first = log.find(line);
  const std::size_t second = log.find(line, first + 1);
  EXPECT_NE(second, std::string::npos) << log;
  EXPECT_EQ(log.find(line, second + 1), std::string::npos) << log;
  EXPECT_THAT(log, Not(HasSubstr("the gradient of 'first.weight'")));
}

TEST(ArenaGradients, OutliveOptimizerAndJob) {
  std::vector<Tensor> kept(2);
  std::vector<std::unique_ptr<ArenaNet>> nets(2);
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const auto rank = static_cast<std::size_t>(job.topology().rank());
    nets[rank] = std::make_unique<ArenaNet>();
    auto optimizer = nets[rank]->optimizer(job);
    nets[rank]->loss(job.topology().rank(), 0).backward();
    optimizer->step();
    kept[rank] = nets[rank]->named[0].tensor.grad();
    EXPECT_TRUE(lies_in(job, kept[rank]));
  });
  EXPECT_EQ(kept[0].to_vector<float>(), kept[1].to_vector<float>());
  // Without the optimizer gradients are ordinary again.
  nets[0]->named[0].tensor.set_grad(Tensor());
  const void* const before = kept[0].raw_data();
  nets[0]->loss(0, 1).backward();
  EXPECT_NE(nets[0]->named[0].tensor.grad().raw_data(), before);
}

// Recomputed regions create tensors of all kinds within a formula.
TEST(ArenaGradients, OfARecomputedRegionLieInTheArena) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    ArenaNet net;
    auto optimizer = net.optimizer(job);
    const int rank = job.topology().rank();
    const Tensor x = full({16, 6}, 0.1 * (rank + 1)).set_requires_grad(true);
    for (int step = 0; step < 2; ++step) {
      optimizer->zero_grad();
      const Tensor h =
          checkpoint([&](const Tensor& in) { return tanh(net.first(in)); }, x);
      (net.second(h) * net.second(h)).mean().backward();
      optimizer->step();
      EXPECT_EQ(number_in(job, net), 4);
    }
  });
}

TEST(ArenaGradients, AreOrdinaryInAJobOfOneAndBetweenNodes) {
  for (const int ranks_per_node : {0, 1}) {
    run_world(
        {.size = ranks_per_node == 0 ? 1 : 2, .ranks_per_node = ranks_per_node},
        [](Runtime& job, LoopbackWorld&) {
          ArenaNet net;
          auto optimizer = net.optimizer(job);
          net.loss(job.topology().rank(), 0).backward();
          optimizer->step();
          EXPECT_EQ(number_in(job, net), 0);
        });
  }
}

}  // namespace
}  // namespace hvd::optim
