// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/arena_alloc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

#include "absl/status/status.h"
#include "horovodpp/core/error.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/run_ranks.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"

namespace hvd {
namespace {

bool is_aligned(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % Arena::kAlignment == 0;
}

TEST(ArenaAlloc, GivesMemoryOfTheArenaToEveryRank) {
  run_ranks(2, [] {
    const std::shared_ptr<float[]> x = arena_alloc<float>(1000);
    EXPECT_TRUE(is_in_arena(x.get(), 1000 * sizeof(float)));
    EXPECT_TRUE(is_aligned(x.get()));
    std::fill_n(x.get(), 1000, static_cast<float>(rank()));
    throw_if_error(allreduce_(TensorView::of(x.get(), {1000}),
                              {.name = "x", .keep_alive = x}));
    EXPECT_EQ(x[0], 0.5f);
    EXPECT_EQ(x[999], 0.5f);
  });
}

TEST(ArenaAlloc, GivesTheMemoryBackWithItsLastHolder) {
  run_ranks(1, [] {
    const std::shared_ptr<Arena> arena = current_runtime().arena();
    const std::size_t before = arena->in_use();
    std::shared_ptr<double[]> x = arena_alloc<double>(100);
    std::shared_ptr<double[]> y = x;
    EXPECT_GT(arena->in_use(), before);
    x.reset();
    EXPECT_GT(arena->in_use(), before);
    y.reset();
    EXPECT_EQ(arena->in_use(), before);
  });
}

TEST(ArenaAlloc, GivesMemoryThatOutlivesTheJob) {
  std::shared_ptr<int[]> x;
  run_ranks(1, [&] {
    x = arena_alloc<int>(50'000);
    EXPECT_TRUE(is_in_arena(x.get(), 50'000 * sizeof(int)));
    x[0] = 1;
  });
  x[49'999] = 2;
  EXPECT_EQ(x[0] + x[49'999], 3);
  EXPECT_FALSE(is_in_arena(x.get(), sizeof(int)));
}

TEST(ArenaAlloc, GivesOtherMemoryWithoutAJob) {
  const std::shared_ptr<int[]> x = arena_alloc<int>(10);
  EXPECT_TRUE(is_aligned(x.get()));
  EXPECT_FALSE(is_in_arena(x.get(), sizeof(int)));
  x[9] = 1;
}

TEST(ArenaAlloc, GivesOtherMemoryBeyondTheLimit) {
  Config config;
  config.arena_limit = 4096;
  const absl::Status status = init(config);
  ASSERT_TRUE(status.ok()) << status;
  const std::shared_ptr<char[]> inside = arena_alloc<char>(4096);
  EXPECT_TRUE(is_in_arena(inside.get(), 4096));
  const std::shared_ptr<char[]> beyond = arena_alloc<char>(1);
  EXPECT_FALSE(is_in_arena(beyond.get(), 1));
  EXPECT_TRUE(is_aligned(beyond.get()));
  ASSERT_TRUE(shutdown().ok());
}

TEST(ArenaAlloc, RefusesMoreThanThereCanBe) {
  EXPECT_THROW(arena_alloc<double>(static_cast<std::size_t>(-1) / 2),
               std::bad_alloc);
  EXPECT_THROW(arena_alloc_bytes(static_cast<std::size_t>(-1)), std::bad_alloc);
}

}  // namespace
}  // namespace hvd
