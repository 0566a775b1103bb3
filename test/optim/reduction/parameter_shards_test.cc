// SPDX-License-Identifier: Apache-2.0
// Sharded updates: each rank updates a part of the parameters.
#include "horovodpp/optim/reduction/parameter_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/clip_grad.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/sgd.h"
#include "test/runtime/world.h"
#include "test/support/expect_error.h"
#include "test/support/fork.h"

namespace hvd::optim {
namespace {

using transport::LoopbackWorld;

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(
    const std::vector<nn::NamedTensor>&)>;

// Parameters with sizes that no number of ranks divides. One lies by columns,
// one is not reached, and one is frozen.
struct ShardedNet : nn::Module {
  explicit ShardedNet(DType dtype = DType::kF32) {
    const auto add = [&](const char* name, const autograd::Dims& shape) {
      Tensor tensor = rand(shape).to(dtype);
      named.push_back({name, tensor.set_requires_grad(true)});
    };
    manual_seed(11);
    add("a", {7, 13});
    add("b", {13});
    add("c", {13, 301});
    add("unreached", {9});
    add("frozen", {3});
    named[4].tensor.set_requires_grad(false);
    for (auto& [name, tensor] : named) register_parameter(name, tensor);
  }

  Tensor forward(const Tensor& x) override {
    return matmul(tanh(matmul(x, named[0].tensor) + named[1].tensor),
                  named[2].tensor);
  }

  Tensor loss(int rank, int step) {
    const Tensor x = full({2, 7}, 0.1 * (rank + 1) + 0.03 * step)
                         .to(named[0].tensor.dtype());
    const Tensor y = (*this)(x);
    return (y * y).mean();
  }

  std::vector<double> values() const {
    std::vector<double> all;
    for (const auto& [name, tensor] : named) {
      for (const double x :
           tensor.detach().to(DType::kF64).to_vector<double>()) {
        all.push_back(x);
      }
    }
    return all;
  }

  std::vector<nn::NamedTensor> named;
};

std::unique_ptr<DistributedOptimizer> distributed(
    Runtime& job, const ShardedNet& net, const MakeOptimizer& make,
    DistributedOptions options = {}) {
  options.runtime = &job;
  options.check_parameters_every = 2;
  return std::make_unique<DistributedOptimizer>(make(net.named), options);
}

const MakeOptimizer kSgd = [](const std::vector<nn::NamedTensor>& named) {
  return std::make_unique<SGD>(named, SGDOptions{.learning_rate = 0.1,
                                                 .momentum = 0.9,
                                                 .weight_decay = 0.01,
                                                 .nesterov = true});
};
const MakeOptimizer kAdam = [](const std::vector<nn::NamedTensor>& named) {
  return std::make_unique<Adam>(
      named, AdamOptions{.weight_decay = 0.1, .amsgrad = true});
};
const MakeOptimizer kAdamW = [](const std::vector<nn::NamedTensor>& named) {
  return std::make_unique<AdamW>(named, AdamWOptions{.learning_rate = 0.01});
};

struct ShardCase {
  WorldOptions world = {};
  DType dtype = DType::kF32;
  MakeOptimizer make = kAdamW;
  DistributedOptions options = {};
  std::function<void(DistributedOptimizer&, ShardedNet&, int step)> step =
      [](DistributedOptimizer& optimizer, ShardedNet&, int) {
        optimizer.step();
      };
  bool gathers_during_forward = false;
};

// The parameters after a few steps, equal on all ranks.
std::vector<double> trained_in(ShardCase how, bool shards) {
  std::vector<std::vector<double>> of_rank(
      static_cast<std::size_t>(how.world.size));
  how.options.shard_updates = shards;
  run_world(how.world, [&](Runtime& job, LoopbackWorld&) {
    const int rank = job.topology().rank();
    ShardedNet net(how.dtype);
    auto optimizer = distributed(job, net, how.make, how.options);
    if (how.gathers_during_forward && shards) {
      optimizer->gather_during_forward(net);
    }
    for (int step = 0; step < 5; ++step) {
      optimizer->zero_grad(step % 2 == 0);
      for (int i = 0; i < how.options.backward_passes_per_step; ++i) {
        net.loss(rank, step + i).backward();
      }
      how.step(*optimizer, net, step);
    }
    optimizer->finish_step();
    of_rank[static_cast<std::size_t>(rank)] = net.values();
  });
  for (const auto& values : of_rank) EXPECT_EQ(values, of_rank[0]);
  return of_rank[0];
}

void expect_equal(const ShardCase& how) {
  EXPECT_EQ(trained_in(how, true), trained_in(how, false));
}

TEST(ParameterShards, GiveTheBitsOfWholeUpdatesOnOneNode) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const MakeOptimizer& make : {kSgd, kAdam, kAdamW}) {
      expect_equal({.world = {.size = ranks}, .make = make});
    }
  }
  for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16}) {
    expect_equal({.world = {.size = 2}, .dtype = dtype});
  }
}

TEST(ParameterShards, GiveTheBitsOfWholeUpdatesWithoutSharedMemory) {
  for (const int ranks : {2, 3}) {
    expect_equal({.world = {.size = ranks, .ranks_per_node = 1}});
  }
  WorldOptions no_arena = {.size = 2};
  no_arena.config.arena_limit = 1;
  expect_equal({.world = no_arena});
  WorldOptions read_only = {.size = 2};
  read_only.config.arena_read_only = true;
  expect_equal({.world = read_only});
}

TEST(ParameterShards, AgreeWithWholeUpdatesBetweenNodesOfSeveralRanks) {
  const ShardCase how = {.world = {.size = 4, .ranks_per_node = 2}};
  const std::vector<double> sharded = trained_in(how, true);
  const std::vector<double> whole = trained_in(how, false);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(sharded[i], whole[i], 1e-5);
  }
}

TEST(ParameterShards, GiveTheSameBitsWithAllOptions) {
  expect_equal({.options = {.op = ReduceOp::kSum}});
  expect_equal({.options = {.gradient_predivide_factor = 2}});
  expect_equal(
      {.options = {.backward_passes_per_step = 2, .average_passes = true}});
  expect_equal({.options = {.every_backward_counts = true}});
  expect_equal({.gathers_during_forward = true});
  expect_equal(
      {.step = [](DistributedOptimizer& optimizer, ShardedNet&, int step) {
        optimizer.step({.weight = step + 1.0});
      }});
  // Completed gradients are reduced over all ranks, and may be changed.
  expect_equal(
      {.step = [](DistributedOptimizer& optimizer, ShardedNet& net, int) {
        optimizer.synchronize();
        std::vector<Tensor> parameters;
        for (const auto& [name, tensor] : net.named)
          parameters.push_back(tensor);
        clip_grad_norm_(parameters, 0.5);
        const auto skip = optimizer.skip_synchronize();
        optimizer.step();
      }});
}

TEST(ParameterShards, ClipByTheNormOfAllGradients) {
  const ShardCase how = {
      .step = [](DistributedOptimizer& optimizer, ShardedNet&, int) {
        GradScaler scaler({.init_scale = 1});
        const StepResult result =
            optimizer.step({.max_norm = 0.5, .grad_scaler = &scaler});
        EXPECT_TRUE(result.stepped);
      }};
  const std::vector<double> sharded = trained_in(how, true);
  const std::vector<double> whole = trained_in(how, false);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(sharded[i], whole[i], 1e-6);
  }
}

TEST(ParameterShards, RememberAPartOnEachRank) {
  std::vector<std::int64_t> elements(4);
  run_world({.size = 4}, [&](Runtime& job, LoopbackWorld&) {
    ShardedNet net;
    auto optimizer = distributed(job, net, kAdamW, {.shard_updates = true});
    net.loss(job.topology().rank(), 0).backward();
    optimizer->step();
    for (const auto& [name, tensor] : optimizer->state()) {
      if (tensor.dtype() != DType::kF32) continue;
      elements[static_cast<std::size_t>(job.topology().rank())] +=
          tensor.num_elements();
    }
  });
  std::int64_t total = 0;
  for (const std::int64_t each : elements) {
    total += each;
    EXPECT_LT(each, 2 * (7 * 13 + 13 + 13 * 301 + 9) * 0.3);
  }
  EXPECT_EQ(total, 2 * (7 * 13 + 13 + 13 * 301 + 9));
}

// Resident memory of the process, without memory that ranks share.
std::int64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib;
  }
  return 0;
}

TEST(ParameterShards, FreeTheMemoryOfParameters) {
  // A sanitizer's malloc keeps freed memory; glibc's frees blocks of this size.
  if (!kForkedMallocWorks) GTEST_SKIP() << "malloc is a sanitizer's";
  constexpr std::int64_t kElements = std::int64_t{9} << 20;
  constexpr std::int64_t kKib = kElements * 4 / 1024;
  std::barrier<> both(2);
  std::int64_t before = 0;
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const std::vector<nn::NamedTensor> named = {
        {"w", ones({kElements}).set_requires_grad(true)}};
    both.arrive_and_wait();
    if (job.topology().rank() == 0) before = resident_kib();
    both.arrive_and_wait();
    const DistributedOptimizer optimizer(
        std::make_unique<SGD>(named, SGDOptions{.learning_rate = 0.1}),
        {.shard_updates = true, .runtime = &job});
    both.arrive_and_wait();
    if (job.topology().rank() == 0) {
      EXPECT_LT(resident_kib(), before - 3 * kKib / 2);
    }
    both.arrive_and_wait();
  });
}

// The state is saved whole. A different number of ranks can load it, and an
// optimizer that is not sharded.
TEST(ParameterShards, SaveAndLoadWholeState) {
  nn::StateDict saved;
  std::vector<double> there;
  const auto go = [&](int ranks, bool shards, bool loads, int from, int to) {
    std::vector<double> result;
    run_world({.size = ranks}, [&](Runtime& job, LoopbackWorld&) {
      ShardedNet net;
      if (loads) {
        NoGrad no_grad;
        std::size_t at = 0;
        for (auto& [name, tensor] : net.named) {
          for (std::int64_t i = 0; i < tensor.num_elements(); ++i) {
            tensor.data<float>()[i] = static_cast<float>(there[at++]);
          }
        }
      }
      auto optimizer = distributed(job, net, kAdam, {.shard_updates = shards});
      if (loads) optimizer->load_state_dict(saved);
      for (int step = from; step < to; ++step) {
        optimizer->zero_grad();
        net.loss(0, step).backward();  // Independent of the number of ranks.
        optimizer->step();
      }
      const nn::StateDict state = optimizer->state_dict();
      if (job.topology().rank() != 0) return;
      result = net.values();
      if (!loads) {
        saved.clear();
        for (const auto& [name, tensor] : state) {
          saved.push_back({name, tensor.clone()});
        }
        there = net.values();
      }
    });
    return result;
  };
  const std::vector<double> straight = go(2, false, false, 0, 4);
  const nn::StateDict whole = saved;
  go(2, true, false, 0, 4);
  ASSERT_EQ(saved.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(saved[i].name, whole[i].name);
    EXPECT_EQ(saved[i].tensor.shape(), whole[i].tensor.shape());
    EXPECT_EQ(saved[i].tensor.to(DType::kF64).to_vector<double>(),
              whole[i].tensor.to(DType::kF64).to_vector<double>());
  }
  const std::vector<double> expected = go(2, false, false, 0, 8);
  go(2, true, false, 0, 4);
  EXPECT_EQ(go(2, true, true, 4, 8), expected);
  EXPECT_EQ(go(4, true, true, 4, 8), expected);
  EXPECT_EQ(go(2, false, true, 4, 8), expected);
}

TEST(ParameterShards, TakeOverTheOptimizersState) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    ShardedNet alone;
    ShardedNet net;
    auto one = kAdamW(alone.named);
    auto wrapped = kAdamW(net.named);
    for (auto& [optimizer, each] :
         {std::pair{one.get(), &alone}, std::pair{wrapped.get(), &net}}) {
      each->loss(0, 0).backward();
      optimizer->step();
    }
    DistributedOptimizer optimizer(std::move(wrapped),
                                   {.shard_updates = true, .runtime = &job});
    one->zero_grad();
    optimizer.zero_grad();
    alone.loss(0, 1).backward();
    net.loss(0, 1).backward();
    // A parameter that is not reached gets zeros from the reduction, but none
    // from a single process.
    alone.named[3].tensor.set_grad(zeros({9}));
    one->step();
    optimizer.step();
    EXPECT_EQ(net.values(), alone.values());
  });
}

TEST(ParameterShards, MoveAThawedParameterWhole) {
  std::vector<double> first;
  for (const bool shards : {false, true}) {
    run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
      ShardedNet net;
      auto optimizer = distributed(job, net, kSgd, {.shard_updates = shards});
      for (int step = 0; step < 3; ++step) {
        if (step == 1) net.named[4].tensor.set_requires_grad(true);
        optimizer->zero_grad();
        Tensor loss = net.loss(job.topology().rank(), step);
        if (step > 0) loss = loss + net.named[4].tensor.sum();
        loss.backward();
        optimizer->step({.max_norm = 1e9});
      }
      optimizer->state_dict();
      if (job.topology().rank() != 0) return;
      if (!shards) first = net.values();
      EXPECT_EQ(net.values(), first);
    });
  }
}

template <typename F>
void expect_refusal(F f, const std::string& text) {
  EXPECT_ERROR(Error, text, f());
}

class OwnOptimizer : public SGD {
 public:
  using SGD::SGD;
  bool moves_parts() const override { return false; }
};

TEST(ParameterShards, RefuseIncompatibleOptions) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    const auto with = [&](DistributedOptions options,
                          const MakeOptimizer& make = kSgd) {
      options.shard_updates = true;
      return [&job, options, make] {
        const ShardedNet net;
        distributed(job, net, make, options);
      };
    };
    expect_refusal(with({.op = ReduceOp::kMax}), "with op average or sum");
    expect_refusal(with({.groups = 2}), "does not go with groups");
    expect_refusal(with({.compression = compression::fp16()}),
                   "does not go with compression");
    expect_refusal(with({},
                        [](const std::vector<nn::NamedTensor>& named) {
                          return std::make_unique<OwnOptimizer>(
                              named, SGDOptions{.learning_rate = 1});
                        }),
                   "moves whole parameters");
    nn::Embedding table(3, 2, {.sparse = true});
    expect_refusal(
        [&] {
          DistributedOptimizer(kSgd(table.named_parameters()),
                               {.shard_updates = true, .runtime = &job});
        },
        "does not go with sparse gradients, which 'weight' has");
    ShardedNet net;
    const Tensor loss = net.loss(0, 0);
    expect_refusal(
        [&] { distributed(job, net, kSgd, {.shard_updates = true}); },
        "a graph that depends on it is alive");
  });
}

TEST(ParameterShards, RefuseStepsThatWouldPartTheRanks) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    ShardedNet net;
    auto optimizer = distributed(job, net, kSgd, {.shard_updates = true});
    {
      const auto skip = optimizer->skip_synchronize();
      expect_refusal([&] { optimizer->step(); }, "call synchronize() before");
    }
    net.loss(0, 0).backward();
    optimizer->step();
    const Tensor held = net.named[0].tensor.grad();
    optimizer->zero_grad();
    const Tensor loss = net.loss(0, 1);
    expect_refusal([&] { loss.backward(); }, "is still held");
  });
}

}  // namespace
}  // namespace hvd::optim
