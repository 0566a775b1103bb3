// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/arena/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "horovodpp/transport/node/shared_memory.h"

namespace hvd {
namespace {

constexpr Arena::Options kSmall = {.first_extent_bytes = 4096};

std::byte* take(Arena& arena, std::size_t bytes) {
  const auto memory = arena.allocate(bytes);
  EXPECT_TRUE(memory.ok()) << memory.status();
  return static_cast<std::byte*>(memory.value_or(nullptr));
}

TEST(Arena, BlocksAreAlignedAndDoNotOverlap) {
  Arena arena({.first_extent_bytes = 4096});
  std::map<std::byte*, std::size_t> blocks;
  for (std::size_t bytes = 0; bytes < 400; ++bytes) {
    std::byte* const block = take(arena, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % Arena::kAlignment, 0u);
    std::memset(block, 1, bytes);
    EXPECT_TRUE(blocks.emplace(block, bytes).second);
  }
  std::byte* end = nullptr;
  for (const auto& [block, bytes] : blocks) {
    EXPECT_GE(block, end);
    end = block + bytes;
  }
  EXPECT_GT(arena.extents(), 1u);
}

TEST(Arena, FindsOnlyWholeRanges) {
  Arena arena({.first_extent_bytes = 1024});
  std::byte* const first = take(arena, 1000);
  std::byte* const second = take(arena, 3000);
  const auto place = arena.find(first + 8, 900);
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(arena.extent(place->extent).data() + place->offset, first + 8);
  ASSERT_TRUE(arena.find(second, 3000).has_value());
  EXPECT_NE(arena.find(second, 3000)->extent, place->extent);
  EXPECT_TRUE(arena.find(first, 0).has_value());
  EXPECT_FALSE(arena.find(first, 1025).has_value());
  EXPECT_FALSE(arena.find(first, static_cast<std::size_t>(-1)).has_value());
  int elsewhere = 0;
  EXPECT_FALSE(arena.find(&elsewhere, sizeof(elsewhere)).has_value());
  EXPECT_FALSE(arena.find(nullptr, 0).has_value());
}

TEST(Arena, MemoryThatIsGivenBackIsUsedAgain) {
  Arena arena({.first_extent_bytes = 1 << 16});
  for (int round = 0; round < 1000; ++round) {
    std::byte* const a = take(arena, 30'000);
    std::byte* const b = take(arena, 30'000);
    EXPECT_TRUE(arena.deallocate(a).ok());
    EXPECT_TRUE(arena.deallocate(b).ok());
  }
  EXPECT_EQ(arena.extents(), 1u);
  // Both blocks merge into one.
  std::byte* const whole = take(arena, 1 << 16);
  EXPECT_EQ(arena.extents(), 1u);
  EXPECT_TRUE(arena.deallocate(whole).ok());
  EXPECT_EQ(arena.in_use(), 0u);
  EXPECT_EQ(arena.peak(), std::size_t{1} << 16);
  EXPECT_EQ(arena.reserved(), std::size_t{1} << 16);
}

TEST(Arena, KeepsContentsThroughRandomUse) {
  Arena arena({.first_extent_bytes = 4096});
  std::mt19937 random(5);
  struct Block {
    std::byte* memory;
    std::size_t bytes;
    std::byte content;
  };
  std::vector<Block> blocks;
  std::size_t used = 0;
  for (int step = 0; step < 5000; ++step) {
    if (blocks.size() < 40 && random() % 2 == 0) {
      const std::size_t bytes = random() % 3000 + 1;
      const Block block = {take(arena, bytes), bytes,
                           static_cast<std::byte>(random())};
      std::memset(block.memory, static_cast<int>(block.content), bytes);
      used += (bytes + 127) / 128 * 128;
      blocks.push_back(block);
    } else if (!blocks.empty()) {
      const std::size_t index = random() % blocks.size();
      const Block block = blocks[index];
      const auto intact = [&](std::byte b) { return b == block.content; };
      ASSERT_TRUE(
          std::all_of(block.memory, block.memory + block.bytes, intact));
      ASSERT_TRUE(arena.deallocate(block.memory).ok());
      used -= (block.bytes + 127) / 128 * 128;
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(index));
    }
    ASSERT_EQ(arena.in_use(), used);
  }
}

TEST(Arena, RefusesToFreeForeignMemory) {
  Arena arena({.first_extent_bytes = 4096});
  std::byte* const block = take(arena, 100);
  EXPECT_TRUE(absl::IsInvalidArgument(arena.deallocate(block + 8)));
  EXPECT_TRUE(absl::IsInvalidArgument(arena.deallocate(nullptr)));
  EXPECT_TRUE(arena.deallocate(block).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(arena.deallocate(block)));
}

TEST(Arena, ReportsTheSizeOfAFailedAllocation) {
  Arena arena({.first_extent_bytes = 4096});
  const auto memory = arena.allocate(std::size_t{1} << 55);
  EXPECT_TRUE(absl::IsResourceExhausted(memory.status())) << memory.status();
  EXPECT_NE(memory.status().message().find("36028797018963968"),
            absl::string_view::npos)
      << memory.status();
  EXPECT_TRUE(absl::IsResourceExhausted(
      arena.allocate(static_cast<std::size_t>(-1)).status()));
  EXPECT_TRUE(arena.allocate(100).ok());
}

TEST(Arena, ServesSeveralThreads) {
  Arena arena({.first_extent_bytes = 4096});
  const auto work = [&](int seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    for (int i = 0; i < 500; ++i) {
      const std::size_t bytes = random() % 2000 + 1;
      std::byte* const block = take(arena, bytes);
      std::memset(block, seed, bytes);
      EXPECT_TRUE(arena.find(block, bytes).has_value());
      EXPECT_EQ(block[bytes - 1], static_cast<std::byte>(seed));
      EXPECT_TRUE(arena.deallocate(block).ok());
    }
  };
  std::vector<std::thread> threads;
  for (int seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arena.in_use(), 0u);
}

TEST(ArenaAllocator, LetsContainersLieInAnArena) {
  const auto arena = std::make_shared<Arena>(kSmall);
  {
    std::vector<float, ArenaAllocator<float>> numbers(
        300, 1.5f, ArenaAllocator<float>(arena));
    EXPECT_TRUE(arena->find(numbers.data(), 1200).has_value());
    numbers.resize(2000, 2.5f);
    EXPECT_TRUE(arena->find(numbers.data(), 8000).has_value());
    EXPECT_EQ(numbers[299] + numbers[300], 4.0f);
  }
  EXPECT_EQ(arena->in_use(), 0u);
}

TEST(ArenaAllocator, TakesOtherMemoryIfTheArenaIsFull) {
  const auto arena = std::make_shared<Arena>(
      Arena::Options{.first_extent_bytes = 4096, .most_bytes = 5000});
  ArenaAllocator<std::byte> allocator(arena);
  std::byte* const inside = allocator.allocate(4000);
  std::byte* const outside = allocator.allocate(4000);
  EXPECT_TRUE(arena->find(inside, 4000).has_value());
  EXPECT_FALSE(arena->find(outside, 4000).has_value());
  std::memset(outside, 7, 4000);
  allocator.deallocate(outside, 4000);
  allocator.deallocate(inside, 4000);
  EXPECT_EQ(arena->in_use(), 0u);
  EXPECT_TRUE(absl::IsResourceExhausted(arena->allocate(5001).status()));
  EXPECT_THROW(allocator.allocate(static_cast<std::size_t>(-1)),
               std::bad_alloc);
}

}  // namespace
}  // namespace hvd
