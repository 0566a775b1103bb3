// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/memory/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <thread>
#include <vector>

namespace hvd {
namespace {

TEST(BufferPool, MemoryIsWhollyUsableAndAligned) {
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{100}, kMinPooled - 1, kMinPooled,
        kMinPooled + 1, std::size_t{5} << 20}) {
    const auto memory = pooled_memory(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 64, 0u);
    std::memset(memory.get(), 1, bytes);
  }
}

TEST(BufferPool, NoMemoryIsGivenTwiceAtATime) {
  std::vector<std::shared_ptr<std::byte>> held;
  std::set<std::byte*> places;
  for (int i = 0; i < 8; ++i) {
    held.push_back(pooled_memory(kMinPooled));
    EXPECT_TRUE(places.insert(held.back().get()).second);
    // Allocates a block, and frees it at once.
    EXPECT_FALSE(places.contains(pooled_memory(kMinPooled).get()));
  }
}

TEST(BufferPool, ReusesFreedMemoryOfSimilarSize) {
  if (!pools_memory()) GTEST_SKIP() << "AddressSanitizer sees each by itself";
  const std::size_t bytes = std::size_t{3} << 20;
  std::byte* const first = pooled_memory(bytes).get();
  EXPECT_EQ(pooled_memory(bytes).get(), first);
  EXPECT_EQ(pooled_memory(bytes - 1).get(), first);
  EXPECT_NE(pooled_memory(2 * bytes).get(), first);
}

TEST(BufferPool, RefusesMoreThanTheMemory) {
  EXPECT_EQ(pooled_memory(std::size_t{1} << 63), nullptr);
  EXPECT_EQ(pooled_memory(std::numeric_limits<std::size_t>::max()), nullptr);
}

TEST(BufferPool, ThreadsShareIt) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) {
        const std::size_t bytes =
            kMinPooled * static_cast<std::size_t>(1 + (i + t) % 5);
        const auto memory = pooled_memory(bytes);
        std::memset(memory.get(), t, bytes);
        EXPECT_EQ(static_cast<int>(memory.get()[bytes - 1]), t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hvd
