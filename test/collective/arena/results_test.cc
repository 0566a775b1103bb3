// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/arena/results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace hvd::collective {
namespace {

std::shared_ptr<Arena> small_arena(std::size_t most_bytes = 1 << 20) {
  return std::make_shared<Arena>(
      Arena::Options{.first_extent_bytes = 64 << 10, .most_bytes = most_bytes});
}

TEST(ArenaResults, LieInTheArenaUntilTheLastHolderIsGone) {
  const auto arena = small_arena();
  ArenaResults results(arena);
  std::shared_ptr<std::byte> memory = results.allocate(1000);
  ASSERT_NE(memory, nullptr);
  EXPECT_TRUE(arena->find(memory.get(), 1000).has_value());
  const std::size_t held = arena->in_use();
  EXPECT_GE(held, 1000u);
  auto copy = memory;
  memory.reset();
  EXPECT_EQ(arena->in_use(), held);
  copy.reset();
  EXPECT_EQ(arena->in_use(), 0u);
}

TEST(ArenaResults, StayWithinTheirShare) {
  const auto arena = small_arena();
  ArenaResults results(arena, 3000);
  auto first = results.allocate(2000);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(results.allocate(1001), nullptr);
  EXPECT_EQ(results.allocate(static_cast<std::size_t>(-1)), nullptr);
  const auto second = results.allocate(1000);
  EXPECT_NE(second, nullptr);
  first.reset();
  EXPECT_NE(results.allocate(2000), nullptr);
}

TEST(ArenaResults, AreNullIfTheArenaIsFull) {
  const auto arena = small_arena(64 << 10);
  ArenaResults results(arena);
  EXPECT_EQ(results.allocate(65 << 10), nullptr);
  EXPECT_NE(results.allocate(64 << 10), nullptr);
  ArenaResults none(small_arena(0));
  EXPECT_EQ(none.allocate(1), nullptr);
}

TEST(ArenaResults, MayBeHeldBeyondThemAndTheArena) {
  std::optional<ArenaResults> results(small_arena());
  const auto memory = results->allocate(1000);
  ASSERT_NE(memory, nullptr);
  results.reset();
  std::fill_n(memory.get(), 1000, std::byte{7});
  EXPECT_EQ(memory.get()[999], std::byte{7});
}

}  // namespace
}  // namespace hvd::collective
