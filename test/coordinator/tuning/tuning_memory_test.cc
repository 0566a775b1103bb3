// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tuning/tuning_memory.h"

#include <gtest/gtest.h>

#include <string>

namespace hvd::coordinator {
namespace {

TuningMemory sample() {
  TuningMemory memory;
  memory.paths = {{.start = 1.5e-5, .per_tensor = 0, .per_byte = 8e-9}};
  memory.remember({.hash = 1, .best = {.order = {0}, .cuts = {1}}});
  memory.remember({.hash = 0xfedcba9876543210u,
                   .best = {.order = {2, 0, 1}, .cuts = {1, 3}}});
  return memory;
}

TEST(TuningMemory, ReadsItsOwnText) {
  for (const TuningMemory& memory : {TuningMemory(), sample()}) {
    const auto read = TuningMemory::from_text(memory.to_text());
    ASSERT_TRUE(read.has_value()) << memory.to_text();
    EXPECT_EQ(*read, memory);
  }
}

TEST(TuningMemory, RefusesEveryBeginningOfAText) {
  const std::string text = sample().to_text();
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(TuningMemory::from_text(text.substr(0, length))) << length;
  }
  EXPECT_FALSE(TuningMemory::from_text(text + "x"));
}

TEST(TuningMemory, AcceptsNoWrongOrderFromADamagedText) {
  const std::string text = sample().to_text();
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char other : {'0', '9', ' ', '|', '\n', '-', '\0'}) {
      std::string damaged = text;
      damaged[at] = other;
      const auto read = TuningMemory::from_text(damaged);
      if (!read) continue;
      for (const TuningMemory::Model& model : read->models) {
        EXPECT_TRUE(model.best.is_of(model.best.order.size())) << damaged;
      }
      for (const PathLine& path : read->paths) {
        EXPECT_GE(path.per_byte, 0) << damaged;
      }
    }
  }
}

TEST(TuningMemory, KnowsOrders) {
  EXPECT_TRUE((Arrangement{{1, 0}, {1, 2}}.is_of(2)));
  EXPECT_FALSE((Arrangement{{1, 0}, {1, 2}}.is_of(3)));
  EXPECT_FALSE((Arrangement{{1, 1}, {2}}.is_of(2)));
  EXPECT_FALSE((Arrangement{{0, 2}, {2}}.is_of(2)));
  EXPECT_FALSE((Arrangement{{0, 1}, {1}}.is_of(2)));
  EXPECT_FALSE((Arrangement{{0, 1}, {1, 1, 2}}.is_of(2)));
  EXPECT_FALSE((Arrangement{{0, 1}, {0, 2}}.is_of(2)));
  EXPECT_FALSE(Arrangement().is_of(0));
}

TEST(TuningMemory, ForgetsTheModelUsedLeast) {
  TuningMemory memory;
  for (std::uint64_t hash = 0; hash <= TuningMemory::kMostModels; ++hash) {
    memory.remember({.hash = hash, .best = {.order = {0}, .cuts = {1}}});
    if (hash > 0) memory.remember({1, {.order = {0}, .cuts = {1}}});
  }
  EXPECT_EQ(memory.models.size(), TuningMemory::kMostModels);
  EXPECT_EQ(memory.find(0), nullptr);
  EXPECT_NE(memory.find(1), nullptr);
  EXPECT_EQ(memory.models.front().hash, 1u);
}

}  // namespace
}  // namespace hvd::coordinator
