// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/budgets/memory_budget.h"

#include <vector>

#include "horovodpp/checkpoint/checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/allocator.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

constexpr std::int64_t kElements = 1 << 14;
constexpr std::int64_t kBytes = kElements * 8;

// A chain of blocks; each saves three tensors and creates one.
struct Chain {
  Tensor x = randn64({kElements});
  std::vector<int> runs = std::vector<int>(8);

  Tensor forward() {
    Tensor y = x;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      y = checkpoint(
          [this, i](const Tensor& in) {
            ++runs[i];
            return tanh(exp(sin(in)));
          },
          y);
    }
    return y;
  }
  std::vector<double> gradient() {
    x.set_grad({});
    runs.assign(runs.size(), 0);
    forward().sum().backward();
    return values(x.grad());
  }
  int total() const {
    int sum = 0;
    for (const int n : runs) sum += n;
    return sum;
  }
};

TEST(MemoryBudget, RecomputesNoRegionIfMemorySuffices) {
  Chain chain;
  const auto checkpointed = chain.gradient();
  EXPECT_EQ(chain.total(), 16);
  MemoryBudget budget(std::int64_t{1} << 30);
  EXPECT_EQ(chain.gradient(), checkpointed);
  EXPECT_EQ(chain.total(), 8);
  EXPECT_EQ(budget.stats().regions, 8);
  EXPECT_EQ(budget.stats().dropped, 0);
}

TEST(MemoryBudget, DropsNoMoreThanNeeded) {
  Chain chain;
  const auto expected = chain.gradient();
  // Keeping everything takes 16 tensors: the results of exp and tanh of each
  // block. The result of tanh is the next block's input, and stays.
  for (const std::int64_t tensors : {10, 12, 14}) {
    autograd::cpu_allocator().reset_peak();
    const std::int64_t before = autograd::cpu_allocator().stats().current_bytes;
    MemoryBudget budget(tensors * kBytes);
    Tensor y = chain.forward();
    const std::int64_t peak = autograd::cpu_allocator().stats().peak_bytes;
    EXPECT_LE(peak - before, tensors * kBytes) << tensors;
    EXPECT_GE(budget.stats().dropped, 16 - tensors);
    EXPECT_LT(budget.stats().dropped, 8);
    EXPECT_EQ(budget.stats().dropped_bytes, budget.stats().dropped * kBytes);
    chain.x.set_grad({});
    chain.runs.assign(8, 0);
    y.sum().backward();
    EXPECT_EQ(values(chain.x.grad()), expected);
    EXPECT_EQ(chain.total(), budget.stats().dropped);
  }
}

TEST(MemoryBudget, OfZeroDropsEveryRegion) {
  Chain chain;
  const auto expected = chain.gradient();
  MemoryBudget budget(0);
  EXPECT_EQ(chain.gradient(), expected);
  EXPECT_EQ(chain.total(), 16);
  EXPECT_ERROR(InvalidArgument, "0 or more", MemoryBudget(-1));
}

TEST(MemoryBudget, KeepsNoMoreTensorsOfADroppedRegion) {
  MemoryBudget budget(0);
  const auto waves = [](const Tensor& in) {
    Tensor y = in;
    for (int i = 0; i < 4; ++i) y = tanh(exp(sin(y)));
    return y;
  };
  checkpoint(waves, randn64({kElements})).sum().backward();
  EXPECT_EQ(budget.stats().dropped, 1);
}

TEST(MemoryBudget, EndsWithItsScope) {
  Chain chain;
  {
    MemoryBudget outer(0);
    MemoryBudget inner(std::int64_t{1} << 30);
    chain.gradient();
    EXPECT_EQ(chain.total(), 8);
  }
  chain.gradient();
  EXPECT_EQ(chain.total(), 16);
}

TEST(MemoryBudget, RegionsWithinRegionsGoToo) {
  const auto run = [] {
    manual_seed(4);
    Tensor x = randn64({kElements}), w = randn64({kElements});
    checkpoint(
        [&](const Tensor& in) {
          Tensor y = in;
          for (int i = 0; i < 3; ++i) {
            y = checkpoint([&](const Tensor& t) { return sin(exp(t * w)); }, y);
          }
          return tanh(y);
        },
        x)
        .sum()
        .backward();
    return std::pair(values(x.grad()), values(w.grad()));
  };
  const auto expected = run();
  for (const std::int64_t tensors : {0, 2, 4, 6, 8, 100}) {
    MemoryBudget budget(tensors * kBytes);
    EXPECT_EQ(run(), expected) << tensors;
  }
}

TEST(MemoryBudget, IsNotForGradientsOfEarlierSteps) {
  Chain chain;
  const Tensor large = randn64({16 * kElements});
  // A step takes up to 20 tensors, plus 16 for the gradient of `large`.
  MemoryBudget budget(20 * kBytes);
  for (int step = 0; step < 2; ++step) {
    large.sum().backward();
    chain.gradient();
    EXPECT_EQ(budget.stats().dropped, 0) << step;
  }
}

// Temporary memory of operations counts, also in backward. Gradients of leaves,
// which stay, do not count.
TEST(MemoryBudget, HoldsDuringBackward) {
  constexpr int kBlocks = 6;
  const auto run = [](std::int64_t* most) {
    manual_seed(5);
    std::vector<Tensor> weights;
    for (int i = 0; i < kBlocks; ++i) weights.push_back(randn64({kElements}));
    autograd::cpu_allocator().reset_peak();
    const std::int64_t before = autograd::cpu_allocator().stats().current_bytes;
    Tensor y = weights[0].detach();
    for (const Tensor& w : weights) {
      y = checkpoint([w](const Tensor& in) { return tanh(exp(in * w) * w); },
                     y);
    }
    y.sum().backward();
    *most = autograd::cpu_allocator().stats().peak_bytes - before;
    std::vector<std::vector<double>> gradients;
    for (const Tensor& w : weights) gradients.push_back(values(w.grad()));
    return gradients;
  };
  std::int64_t most = 0;
  const auto expected = run(&most);
  constexpr std::int64_t kGradients = kBlocks * kBytes;
  for (const std::int64_t tensors : {14, 16, 20}) {
    MemoryBudget budget(tensors * kBytes);
    EXPECT_EQ(run(&most), expected) << tensors;
    // Beyond the budget: the gradients, and a few numbers.
    EXPECT_LE(most, tensors * kBytes + kGradients + 1024) << tensors;
    EXPECT_TRUE(tensors < 20 || budget.stats().dropped < kBlocks);
  }
}

// The recomputation of a region refills its inner regions.
TEST(MemoryBudget, ARecomputationServesTheRegionsWithin) {
  std::vector<int> runs(3);
  Tensor x = randn64({kElements});
  const auto outer = [&](const Tensor& in) {
    Tensor y = in;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      y = checkpoint(
          [&runs, i](const Tensor& t) {
            ++runs[i];
            return tanh(exp(sin(t)));
          },
          y);
    }
    return y;
  };
  outer(x).sum().backward();
  const auto expected = values(x.grad());
  for (const bool is_needed_until_backward : {false, true}) {
    x.set_grad({});
    runs.assign(3, 0);
    MemoryBudget budget(20 * kBytes);
    Tensor ballast = ones64({20 * kElements});
    Tensor y = checkpoint(outer, x);
    EXPECT_EQ(budget.stats().dropped, 4);
    if (!is_needed_until_backward) ballast = Tensor();
    y.sum().backward();
    EXPECT_EQ(values(x.grad()), expected);
    // The outer region does not need the last region's results.
    const int more = is_needed_until_backward ? 1 : 0;
    EXPECT_EQ(runs, (std::vector<int>{2 + more, 2 + more, 2}));
  }
}

}  // namespace
}  // namespace hvd
