// SPDX-License-Identifier: Apache-2.0
// Tensors in the ranks' arenas.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "test/runtime/suite_support.h"

namespace hvd::suite {

using ArenaFloats = std::vector<float, ArenaAllocator<float>>;

inline ArenaFloats floats_in_arena(Runtime& job, std::size_t count,
                                   float value) {
  return ArenaFloats(count, value, ArenaAllocator<float>(job.arena()));
}

// Holds from the first call on, in which the ranks look up each other's memory.
inline void reduces_tensors_in_the_arena(Runtime& job) {
  ASSERT_NE(job.arena(), nullptr);
  const int size = size_of(job);
  for (const std::size_t count : {1u, 3000u, 100'000u}) {
    ArenaFloats x = floats_in_arena(job, count, 0);
    for (int step = 0; step < 6; ++step) {
      for (std::size_t i = 0; i < count; ++i) {
        x[i] = static_cast<float>(rank_of(job)) + static_cast<float>(i % 97);
      }
      ASSERT_EQ(
          job.allreduce_async_(
                 TensorView::of(x.data(), {static_cast<std::int64_t>(count)}),
                 {.name = "arena", .op = ReduceOp::kSum})
              .wait(),
          absl::OkStatus());
      const int ranks = size * (size - 1) / 2;
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(x[i],
                  static_cast<float>(ranks + size * static_cast<int>(i % 97)));
      }
    }
  }
}

// New results lie in memory that the node's other ranks write to. Later writes
// by the holder must stay private.
inline void gathers_into_new_memory_of_the_arena(Runtime& job) {
  constexpr std::int64_t kCount = 20'000;
  const int size = size_of(job);
  const auto each = static_cast<std::size_t>(kCount);
  std::vector<Buffer> kept;
  for (int step = 0; step < 6; ++step) {
    const std::vector<float> mine(each, static_cast<float>(rank_of(job)));
    auto all = job.allgather_async(ConstTensorView::of(mine.data(), {kCount}),
                                   {.name = "rows"})
                   .wait();
    ASSERT_EQ(all.status(), absl::OkStatus());
    kept.push_back(*std::move(all));
    std::fill_n(kept.back().data<float>(), 1, static_cast<float>(-step));

    const std::vector<float> rows(each * static_cast<std::size_t>(size),
                                  static_cast<float>(rank_of(job) + step));
    const auto exchanged =
        job.alltoall_async(ConstTensorView::of(rows.data(), {kCount * size}),
                           {.name = "exchange"})
            .wait();
    ASSERT_EQ(exchanged.status(), absl::OkStatus());
    for (int r = 0; r < size; ++r) {
      const float* part =
          exchanged->tensor.data<float>() + static_cast<std::size_t>(r) * each;
      ASSERT_EQ(part[0], static_cast<float>(r + step));
      ASSERT_EQ(part[each - 1], static_cast<float>(r + step));
    }
  }
  for (std::size_t step = 0; step < kept.size(); ++step) {
    const float* all = kept[step].data<float>();
    ASSERT_EQ(all[0], -static_cast<float>(step));
    for (int r = 0; r < size; ++r) {
      const float* part = all + static_cast<std::size_t>(r) * each;
      ASSERT_EQ(part[1], static_cast<float>(r));
      ASSERT_EQ(part[each - 1], static_cast<float>(r));
    }
  }
}

// Members of a group lie in the arenas of all ranks, of some ranks or of none;
// ranks allocate in different orders.
inline void reduces_groups_that_lie_anywhere(Runtime& job) {
  constexpr std::size_t kCount = 5000;
  const bool odd = rank_of(job) % 2 == 1;
  const ArenaFloats pad = floats_in_arena(job, odd ? 777 : 1, 0);
  ArenaFloats first = floats_in_arena(job, kCount, 1);
  ArenaFloats inside = floats_in_arena(job, kCount, 2);
  std::vector<float> outside(kCount, 2);
  std::vector<float> last(kCount, 3);
  for (int step = 0; step < 5; ++step) {
    float* const middle = odd ? outside.data() : inside.data();
    std::vector<TensorView> group;
    for (float* const memory : {first.data(), middle, last.data()}) {
      group.push_back(TensorView::of(memory, {kCount}));
    }
    ASSERT_EQ(job.grouped_allreduce_async_(group, {.name = "anywhere"}).wait(),
              absl::OkStatus());
    EXPECT_EQ(first, floats_in_arena(job, kCount, 1));
    EXPECT_EQ(std::vector<float>(middle, middle + kCount),
              std::vector<float>(kCount, 2));
    EXPECT_EQ(last, std::vector<float>(kCount, 3));
  }
}

inline void reduces_in_the_arena_in_every_set(Runtime& job) {
  constexpr std::size_t kCount = 4000;
  for (int round = 0; round < 3; ++round) {
    for (const ProcessSet& set : every_set(job)) {
      if (!is_in(job, set)) continue;
      ArenaFloats x =
          floats_in_arena(job, kCount, static_cast<float>(rank_of(job)));
      float expected = 0;
      for (const int rank : members_of(job, set)) {
        expected += static_cast<float>(rank);
      }
      ASSERT_EQ(
          job.allreduce_async_(
                 TensorView::of(x.data(), {kCount}),
                 {.name = "in a set", .op = ReduceOp::kSum, .process_set = set})
              .wait(),
          absl::OkStatus());
      EXPECT_EQ(x, floats_in_arena(job, kCount, expected));
    }
  }
}

inline constexpr Case kArenaCases[] = {
    {"ReducesTensorsInTheArena", reduces_tensors_in_the_arena},
    {"GathersIntoNewMemoryOfTheArena", gathers_into_new_memory_of_the_arena},
    {"ReducesGroupsThatLieAnywhere", reduces_groups_that_lie_anywhere},
    {"ReducesInTheArenaInEverySet", reduces_in_the_arena_in_every_set},
};

}  // namespace hvd::suite
