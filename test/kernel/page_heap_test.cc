// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/page_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <random>
#include <utility>
#include <vector>

namespace hvd::autograd {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::byte* take(PageHeap& heap, std::size_t bytes) {
  return static_cast<std::byte*>(heap.take(bytes));
}

TEST(PageHeap, SplitsAKeptBlockForSmallerOnes) {
  PageHeap heap(16 * kMiB);
  std::byte* const block = take(heap, 8 * kMiB);
  heap.give(block, 8 * kMiB);
  EXPECT_EQ(take(heap, 3 * kMiB), block);
  EXPECT_EQ(take(heap, 5 * kMiB), block + 3 * kMiB);
  EXPECT_EQ(heap.kept_bytes(), 0);
  heap.give(block + 3 * kMiB, 5 * kMiB);
  heap.give(block, 3 * kMiB);
}

TEST(PageHeap, MergesNeighborsInAnyOrder) {
  PageHeap heap(16 * kMiB);
  std::byte* const block = take(heap, 6 * kMiB);
  heap.give(block + 4 * kMiB, 2 * kMiB);
  heap.give(block, 2 * kMiB);
  heap.give(block + 2 * kMiB, 2 * kMiB);
  EXPECT_EQ(take(heap, 6 * kMiB), block);
  heap.give(block, 6 * kMiB);
}

TEST(PageHeap, PrefersTheSmallestRangeThatIsLargeEnough) {
  PageHeap heap(64 * kMiB);
  std::byte* const all = take(heap, 16 * kMiB);
  std::byte* const fitting = all + 12 * kMiB;
  heap.give(all, 8 * kMiB);
  heap.give(fitting, 2 * kMiB);
  EXPECT_EQ(take(heap, 2 * kMiB), fitting);
  heap.give(fitting, 4 * kMiB);
  heap.give(all + 8 * kMiB, 4 * kMiB);
  EXPECT_EQ(heap.kept_bytes(), 16 * kMiB);
}

TEST(PageHeap, ReturnsToTheSystemWhatItMayNotKeep) {
  PageHeap heap(4 * kMiB);
  void* const small = heap.take(3 * kMiB);
  void* const large = heap.take(5 * kMiB);
  heap.give(large, 5 * kMiB);
  EXPECT_EQ(heap.kept_bytes(), 0);
  heap.give(small, 3 * kMiB);
  EXPECT_EQ(heap.kept_bytes(), 3 * kMiB);
  heap.drain();
  EXPECT_EQ(heap.kept_bytes(), 0);
}

TEST(PageHeap, SaysThatTheSystemHasNoMemory) {
  PageHeap heap(4 * kMiB);
  heap.give(heap.take(kMiB), kMiB);
  EXPECT_THROW(heap.take(std::size_t{1} << 62), std::bad_alloc);
  EXPECT_EQ(heap.kept_bytes(), 0);
}

struct Block {
  std::byte* begin;
  std::size_t bytes;
  std::byte mark;
};

bool holds_its_mark(const Block& block) {
  for (std::size_t i = 0; i < block.bytes; i += 4096) {
    if (block.begin[i] != block.mark) return false;
  }
  return block.begin[block.bytes - 1] == block.mark;
}

TEST(PageHeap, NeverHandsOutMemoryTwice) {
  PageHeap heap(8 * kMiB);
  std::mt19937 random(1);
  std::vector<Block> held;
  for (int i = 0; i < 400; ++i) {
    if (held.size() > 12 || (!held.empty() && random() % 2 == 0)) {
      std::swap(held[random() % held.size()], held.back());
      ASSERT_TRUE(holds_its_mark(held.back()));
      heap.give(held.back().begin, held.back().bytes);
      held.pop_back();
      continue;
    }
    const std::size_t bytes = 1 + random() % (2 * kMiB);
    const Block block{take(heap, bytes), bytes, std::byte(i)};
    std::fill_n(block.begin, bytes, block.mark);
    held.push_back(block);
  }
  for (const Block& block : held) {
    EXPECT_TRUE(holds_its_mark(block));
    heap.give(block.begin, block.bytes);
  }
}

}  // namespace
}  // namespace hvd::autograd
