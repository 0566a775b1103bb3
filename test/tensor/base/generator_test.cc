// SPDX-License-Identifier: Apache-2.0
// Item 188: random numbers are a function of seed and offset.
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/core/error.h"

#include <algorithm>

#include <thread>

#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Generator;
using autograd::philox;
using ::testing::ElementsAre;

// The known answers of the authors' implementation (Random123, kat_vectors).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                     {0xffffffff, 0xffffffff}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                     {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

// Item 188.
TEST(Generator, ReplaysFromItsState) {
  Generator generator(42);
  std::vector<float> first(10), second(10), replay(10);
  generator.uniform(std::span<float>(first));
  const Generator::State state = generator.state();
  EXPECT_EQ(state.offset, 3u);
  generator.uniform(std::span<float>(second));
  EXPECT_NE(first, second);
  generator.set_state(state);
  generator.uniform(std::span<float>(replay));
  EXPECT_EQ(replay, second);
}

TEST(Generator, SeedsTheCallingThreadsOwn) {
  manual_seed(3);
  const auto here = randn({100}).to_vector<float>();
  std::vector<float> there;
  std::thread([&] {
    manual_seed(3);
    there = randn({100}).to_vector<float>();
  }).join();
  EXPECT_EQ(here, there);
  EXPECT_NE(here, randn({100}).to_vector<float>());
}

TEST(Generator, ForksIndependentGenerators) {
  Generator parent(1), same(1);
  Generator a = parent.fork(), b = parent.fork();
  EXPECT_NE(a.state(), b.state());
  EXPECT_EQ(same.fork().state(), a.state());
}

TEST(Generator, DrawsFlagsAndPermutations) {
  manual_seed(3);
  const Tensor flags = bernoulli({10000}, 0.3);
  EXPECT_NEAR(flags.sum().item<float>(), 3000, 200);
  EXPECT_EQ(bernoulli({100}, 0.0).sum().item<float>(), 0);
  EXPECT_EQ(bernoulli({100}, 1.0, {.dtype = DType::kI32}).dtype(), DType::kI32);
  EXPECT_THROW(bernoulli({2}, 1.5), InvalidArgument);
  auto order = randperm(1000).to_vector<std::int64_t>();
  EXPECT_NE(order, randperm(1000).to_vector<std::int64_t>());
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(order[i], static_cast<std::int64_t>(i));
  }
  manual_seed(3);
  EXPECT_EQ(bernoulli({10000}, 0.3).to_vector<float>(),
            flags.to_vector<float>());
}

TEST(Generator, DrawsFromTheRightDistributions) {
  manual_seed(5);
  for (DType dtype : {DType::kF32, DType::kF64}) {
    const auto u = values(rand({20000}, {.dtype = dtype}).to(DType::kF64));
    const auto n = values(randn({20000}, {.dtype = dtype}).to(DType::kF64));
    double mean = 0, square = 0;
    for (double v : u) {
      ASSERT_GE(v, 0);
      ASSERT_LT(v, 1);
      mean += v / 20000;
    }
    EXPECT_NEAR(mean, 0.5, 0.01);
    mean = 0;
    for (double v : n) {
      mean += v / 20000;
      square += v * v / 20000;
    }
    EXPECT_NEAR(mean, 0, 0.03);
    EXPECT_NEAR(square, 1, 0.05);
  }
  EXPECT_THROW(rand({2}, {.dtype = DType::kI64}), InvalidArgument);
}

}  // namespace
}  // namespace hvd
