// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/memory_budget.h"

#include <vector>

#include "horovodpp/checkpoint/checkpoint.h"
#include "horovodpp/core/invalid_argument.h"
#include "horovodpp/kernel/allocator.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

constexpr std::int64_t kElements = 1 << 14;
constexpr std::int64_t kBytes = kElements * 8;

// A chain of blocks, each of which saves three tensors and makes one.
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

TEST(MemoryBudget, WhereMemorySufficesNothingRunsAgain) {
  Chain chain;
  const auto checkpointed = chain.gradient();
  EXPECT_EQ(chain.total(), 16);
  MemoryBudget budget(std::int64_t{1} << 30);
  EXPECT_EQ(chain.gradient(), checkpointed);
  EXPECT_EQ(chain.total(), 8);
  EXPECT_EQ(budget.stats().regions, 8);
  EXPECT_EQ(budget.stats().dropped, 0);
}

TEST(MemoryBudget, IsKeptToByNoMoreThanItTakes) {
  Chain chain;
  const auto expected = chain.gradient();
  // Everything kept is 16 tensors: what exp and tanh of each block made. What
  // tanh made is the next block's input, and stays.
  for (const std::int64_t tensors : {10, 12, 14}) {
    autograd::cpu_allocator().reset_peak();
    const std::int64_t before = autograd::cpu_allocator().stats().current_bytes;
    MemoryBudget budget(tensors * kBytes);
    Tensor y = chain.forward();
    const std::int64_t peak = autograd::cpu_allocator().stats().peak_bytes;
    // It is noticed when the next tensor is saved, with up to two more made.
    EXPECT_LE(peak - before, (tensors + 2) * kBytes) << tensors;
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

TEST(MemoryBudget, OfNothingIsACheckpoint) {
  Chain chain;
  const auto expected = chain.gradient();
  MemoryBudget budget(0);
  EXPECT_EQ(chain.gradient(), expected);
  EXPECT_EQ(chain.total(), 16);
  EXPECT_ERROR(InvalidArgument, "0 or more", MemoryBudget(-1));
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

}  // namespace
}  // namespace hvd
