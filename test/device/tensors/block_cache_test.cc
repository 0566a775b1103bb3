// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/tensors/block_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "horovodpp/device/tensors/pinned_cache.h"
#include "test/support/test_gpus.h"

namespace hvd::device {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

class BlockCacheTest : public ::testing::Test {
 protected:
  std::byte* allocate(std::size_t bytes, CuStream stream = nullptr) {
    return cache_.allocate(bytes, stream).value();
  }

  const std::unique_ptr<CudaDriver> cuda_ =
      CudaDriver::load(testing::TestGpus::cuda_library()).value();
  const CudaContext context_ = cuda_->context(0).value();
  BlockCache cache_{context_};
};

TEST_F(BlockCacheTest, ReusesMemoryOfTheSameStreamAtOnce) {
  std::byte* const first = allocate(1000);
  std::byte* const second = allocate(1000);
  EXPECT_NE(first, second);
  cache_.release(first);
  EXPECT_EQ(allocate(700), first);
  EXPECT_EQ(allocate(0), nullptr);
  cache_.release(nullptr);
}

TEST_F(BlockCacheTest, CountsExactly) {
  std::byte* const small = allocate(1000);
  std::byte* const large = allocate(3 * kMegabyte);
  GpuMemoryStats stats = cache_.stats();
  EXPECT_EQ(stats.allocated_bytes, 1000 + 3 * std::int64_t{kMegabyte});
  EXPECT_EQ(stats.reserved_bytes, 22 * std::int64_t{kMegabyte});
  cache_.release(large);
  cache_.empty();
  stats = cache_.stats();
  EXPECT_EQ(stats.allocated_bytes, 1000);
  EXPECT_EQ(stats.peak_allocated_bytes, 1000 + 3 * std::int64_t{kMegabyte});
  EXPECT_EQ(stats.reserved_bytes, 2 * std::int64_t{kMegabyte});
  EXPECT_EQ(stats.peak_reserved_bytes, 22 * std::int64_t{kMegabyte});
  cache_.reset_peaks();
  cache_.release(small);
  EXPECT_EQ(cache_.stats().peak_allocated_bytes, 1000);
  EXPECT_EQ(cache_.stats().allocated_bytes, 0);
}

TEST_F(BlockCacheTest, JoinsNeighborsThatAreFree) {
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(allocate(4 * kMegabyte));
  for (const int i : {1, 3, 2, 0}) {
    cache_.release(blocks[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(allocate(10 * kMegabyte), blocks[0]);
  EXPECT_EQ(cache_.stats().reserved_bytes, 20 * std::int64_t{kMegabyte});
}

// Blocks of random sizes never overlap, in two streams.
TEST_F(BlockCacheTest, GivesNoByteToTwoBlocks) {
  const CudaStream other = CudaStream::create(context_).value();
  std::mt19937 random(7);
  struct Taken {
    std::byte* begin;
    std::size_t bytes;
  };
  std::vector<Taken> taken;
  for (int i = 0; i < 2000; ++i) {
    if (taken.size() > 30 || (random() % 3 == 0 && !taken.empty())) {
      const std::size_t k = random() % taken.size();
      cache_.release(taken[k].begin);
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(k));
      continue;
    }
    const std::size_t bytes = 1 + random() % (1u << (8 + random() % 16));
    std::byte* const begin =
        allocate(bytes, random() % 2 == 0 ? nullptr : other.handle());
    for (const Taken& one : taken) {
      ASSERT_TRUE(begin + bytes <= one.begin || one.begin + one.bytes <= begin);
    }
    taken.push_back({begin, bytes});
  }
  std::int64_t held = 0;
  for (const Taken& one : taken) held += static_cast<std::int64_t>(one.bytes);
  EXPECT_EQ(cache_.stats().allocated_bytes, held);
  for (const Taken& one : taken) cache_.release(one.begin);
  cache_.empty();
  EXPECT_EQ(cache_.stats().reserved_bytes, 0);
}

TEST_F(BlockCacheTest, KeepsStreamsApart) {
  const CudaStream other = CudaStream::create(context_).value();
  std::byte* const block = allocate(1000);
  cache_.release(block);
  EXPECT_NE(allocate(1000, other.handle()), block);
  EXPECT_EQ(allocate(1000), block);
}

// A stream that is to reuse a block waits for another stream's work on it; the
// host does not.
TEST_F(BlockCacheTest, IsReusedBehindTheWorkOfOtherStreams) {
  HVD_NEEDS_STAND_INS();
  CudaStream own = CudaStream::create(context_).value();
  CudaStream other = CudaStream::create(context_).value();
  struct Order {
    std::atomic<bool> may_end{false};
    std::atomic<bool> has_ended{false};
    std::atomic<bool> came_first{false};
  } order;
  std::byte* const block = allocate(1000, own.handle());
  testing::FakeCuda::put(
      other.handle(),
      [](void* argument) {
        auto* const all = static_cast<Order*>(argument);
        while (!all->may_end) continue;
        all->has_ended = true;
        return 0;
      },
      &order);
  ASSERT_EQ(cache_.note_use(block + 10, other.handle()), absl::OkStatus());
  cache_.release(block);
  ASSERT_EQ(allocate(1000, own.handle()), block);
  testing::FakeCuda::put(
      own.handle(),
      [](void* argument) {
        auto* const all = static_cast<Order*>(argument);
        all->came_first = !all->has_ended;
        return 0;
      },
      &order);
  order.may_end = true;
  ASSERT_EQ(own.synchronize(), absl::OkStatus());
  EXPECT_FALSE(order.came_first);
}

TEST_F(BlockCacheTest, ReturnsSpareMemoryBeforeItGivesUp) {
  HVD_NEEDS_STAND_INS();
  std::byte* const spare = allocate(30 * kMegabyte);
  cache_.release(spare);
  testing::FakeCuda::run_out_of_memory();  // Of one attempt.
  std::byte* const block = allocate(50 * kMegabyte);
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(cache_.stats().reserved_bytes, 50 * std::int64_t{kMegabyte});
}

TEST_F(BlockCacheTest, SaysHowMuchMemoryThereIs) {
  HVD_NEEDS_STAND_INS();
  static_cast<void>(allocate(1000));
  testing::FakeCuda::fail_next("cuMemAlloc_v2", kCuOutOfMemory, 4);
  const auto block = cache_.allocate(3 * kMegabyte, nullptr);
  ASSERT_EQ(block.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      std::string(block.status().message()),
      AllOf(HasSubstr("GPU 0 has no 3145728 bytes"), HasSubstr("are free"),
            HasSubstr("have 1000 bytes of the 2097152 reserved"),
            HasSubstr("use smaller batches")));
  EXPECT_EQ(cache_.allocate(std::size_t{1} << 62, nullptr).status().code(),
            absl::StatusCode::kResourceExhausted);
  // The cache goes on.
  EXPECT_NE(allocate(3 * kMegabyte), nullptr);
}

TEST_F(BlockCacheTest, OfPinnedMemoryIsReusedWhenItsCopiesAreDone) {
  HVD_NEEDS_STAND_INS();
  PinnedCache pinned(context_);
  CudaStream stream = CudaStream::create(context_).value();
  std::byte* const block = pinned.allocate(5000).value();
  EXPECT_TRUE(pinned.holds(block + 4999));
  EXPECT_FALSE(pinned.holds(&pinned));
  std::atomic<bool> may_end{false};
  testing::FakeCuda::put(
      stream.handle(),
      [](void* argument) {
        while (!*static_cast<std::atomic<bool>*>(argument)) continue;
        return 0;
      },
      &may_end);
  ASSERT_EQ(pinned.note_use(block, context_, stream.handle()),
            absl::OkStatus());
  pinned.release(block);
  EXPECT_EQ(pinned.stats().current_bytes, 0);
  std::byte* const second = pinned.allocate(5000).value();
  EXPECT_NE(second, block);
  may_end = true;
  ASSERT_EQ(stream.synchronize(), absl::OkStatus());
  EXPECT_EQ(pinned.allocate(6000).value(), block);
  EXPECT_EQ(pinned.stats().peak_bytes, 11000);
  pinned.release(second);
  pinned.empty();
  EXPECT_EQ(pinned.stats().reserved_bytes, 8192);
  testing::FakeCuda::fail_next("cuMemHostAlloc", kCuOutOfMemory);
  EXPECT_EQ(pinned.allocate(std::size_t{1} << 30).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace hvd::device
