// SPDX-License-Identifier: Apache-2.0
// Collectives for one rank, or from one: reduce, gather and scatter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "horovodpp/runtime/execution/reductions.h"
#include "test/runtime/suite_join.h"
#include "test/runtime/suite_support.h"

namespace hvd::suite {

// Calls body(set, members, root) for each root of each set of this rank.
template <typename Body>
void for_every_root(Runtime& job, Body body) {
  for (const ProcessSet& set : every_set(job)) {
    if (!is_in(job, set)) continue;
    const std::vector<int> members = members_of(job, set);
    for (const int root : members) body(set, members, root);
  }
}

inline void reduces_for_one_rank(Runtime& job) {
  for_every_root(job, [&](const ProcessSet& set,
                          const std::vector<int>& members, int root) {
    for (const DType dtype : {DType::kF16, DType::kF64, DType::kI32}) {
      for (const ReduceOp op :
           {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMax}) {
        const Reduction reduction{.dtype = dtype, .op = op};
        for (const Shape& shape : {Shape({5, 3}), Shape({})}) {
          const Buffer mine = contribution(reduction, rank_of(job), shape);
          const auto result =
              job.reduce_async(mine.view(), root,
                               {.name = "r", .op = op, .process_set = set})
                  .wait();
          ASSERT_EQ(result.status(), absl::OkStatus());
          if (rank_of(job) == root) {
            EXPECT_EQ(result->shape(), shape);
            expect_reduced(reduction, members, *result);
          } else {
            EXPECT_EQ(result->num_elements(), 0);
          }
        }
      }
    }
  });
}

inline void reduces_in_place_for_one_rank(Runtime& job) {
  const Reduction reduction{.dtype = DType::kF32, .op = ReduceOp::kSum};
  for_every_root(job, [&](const ProcessSet& set,
                          const std::vector<int>& members, int root) {
    for (const std::int64_t count : {1, 7, 40000}) {
      const Buffer mine = contribution(reduction, rank_of(job), {count});
      const std::vector<double> before = numbers_in(mine);
      const Future<void> done = job.reduce_async_(
          mine.view(), root,
          {.name = "in place", .op = reduction.op, .process_set = set});
      ASSERT_EQ(done.wait(), absl::OkStatus());
      if (rank_of(job) == root) {
        expect_reduced(reduction, members, mine);
      } else {
        EXPECT_EQ(numbers_in(mine), before);
      }
    }
  });
}

inline void gathers_uneven_rows_for_one_rank(Runtime& job) {
  const Reduction kind{.dtype = DType::kI64, .op = ReduceOp::kSum};
  const auto rows = [](int rank) { return Shape({rank % 3, 2}); };
  for_every_root(job, [&](const ProcessSet& set,
                          const std::vector<int>& members, int root) {
    const Buffer mine = contribution(kind, rank_of(job), rows(rank_of(job)));
    const auto all =
        job.gather_async(mine.view(), root, {.name = "g", .process_set = set})
            .wait();
    ASSERT_EQ(all.status(), absl::OkStatus());
    EXPECT_EQ(all->shape()[1], 2);
    std::vector<double> expected;
    for (const int rank : members) {
      if (rank_of(job) != root) break;
      const auto part = numbers_in(contribution(kind, rank, rows(rank)));
      expected.insert(expected.end(), part.begin(), part.end());
    }
    EXPECT_EQ(numbers_in(*all), expected);
  });
}

// Without splits and with them; the other ranks' tensors have no rows.
inline void scatters_the_rows_of_one_rank(Runtime& job) {
  for_every_root(job, [&](const ProcessSet& set,
                          const std::vector<int>& members, int root) {
    const auto position = static_cast<std::size_t>(*job.rank_in(set));
    for (const bool given : {false, true}) {
      std::vector<std::int64_t> splits;
      std::int64_t first = 0;
      for (std::size_t r = 0; r < members.size(); ++r) {
        splits.push_back(given ? static_cast<std::int64_t>(2 * r)
                               : runtime::scattered_rows(7, members.size(), r));
        if (r < position) first += splits.back();
      }
      const std::int64_t rows = given ? 2 * 16 * 16 : 7;
      std::vector<float> table(static_cast<std::size_t>(3 * rows));
      for (std::size_t i = 0; i < table.size(); ++i) {
        table[i] = static_cast<float>(i);
      }
      const bool is_root = rank_of(job) == root;
      const auto mine =
          job.scatter_async(
                 ConstTensorView(table.data(), DType::kF32,
                                 Shape({is_root ? rows : 0, 3})),
                 root,
                 {.name = "s",
                  .splits =
                      given && is_root ? splits : std::vector<std::int64_t>(),
                  .process_set = set})
              .wait();
      ASSERT_EQ(mine.status(), absl::OkStatus());
      ASSERT_EQ(mine->shape(), Shape({splits[position], 3}));
      const std::vector<double> numbers = numbers_in(*mine);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        ASSERT_EQ(numbers[i],
                  static_cast<double>(3 * first) + static_cast<double>(i));
      }
    }
  });
}

// The last rank joins last.
inline void joined_ranks_take_part_in_rooted_collectives(Runtime& job) {
  const Reduction reduction{.dtype = DType::kF32, .op = ReduceOp::kSum};
  const int last = size_of(job) - 1;
  const bool is_last = rank_of(job) == last;
  train_unevenly(
      job, ProcessSet::global(), [&](int, const std::vector<int>& live) {
        const Buffer mine = contribution(reduction, rank_of(job), {6});
        const auto sum =
            job.reduce_async(mine.view(), last,
                             {.name = "reduced", .op = reduction.op})
                .wait();
        const auto all =
            job.gather_async(mine.view(), last, {.name = "gathered"}).wait();
        const auto part =
            job.scatter_async(mine.view(), last, {.name = "scattered"}).wait();
        ASSERT_EQ(sum.status(), absl::OkStatus());
        ASSERT_EQ(all.status(), absl::OkStatus());
        ASSERT_EQ(part.status(), absl::OkStatus());
        if (is_last) expect_reduced(reduction, live, *sum);
        EXPECT_EQ(all->shape()[0],
                  is_last ? 6 * static_cast<std::int64_t>(live.size()) : 0);
        EXPECT_EQ(
            part->shape()[0],
            runtime::scattered_rows(6, static_cast<std::size_t>(size_of(job)),
                                    static_cast<std::size_t>(rank_of(job))));

        const bool all_live = static_cast<int>(live.size()) == size_of(job);
        const auto to_first =
            job.gather_async(mine.view(), 0, {.name = "to the first"}).wait();
        EXPECT_EQ(to_first.ok(), all_live) << to_first.status();
        if (!all_live) {
          EXPECT_THAT(text_of(to_first.status()),
                      ::testing::HasSubstr("to rank 0, which has joined"));
        }
      });
}

inline void roots_that_differ_fail_everywhere(Runtime& job) {
  if (size_of(job) == 1) return;
  const Buffer mine = contribution({}, rank_of(job), {4});
  const int root = rank_of(job) == 0 ? 0 : 1;
  EXPECT_TRUE(is_refused(
      job.reduce_async(mine.view(), root, {.name = "r"}).wait().status()));
  EXPECT_TRUE(is_refused(
      job.gather_async(mine.view(), root, {.name = "g"}).wait().status()));
  EXPECT_TRUE(is_refused(
      job.scatter_async(mine.view(), root, {.name = "s"}).wait().status()));
  EXPECT_TRUE(
      is_refused(job.reduce_async(mine.view(), size_of(job), {.name = "none"})
                     .wait()
                     .status()));
  EXPECT_EQ(job.gather_async(mine.view(), 0, {.name = "g"}).wait().status(),
            absl::OkStatus());
}

inline constexpr Case kRootedCases[] = {
    {"ReducesForOneRank", reduces_for_one_rank},
    {"ReducesInPlaceForOneRank", reduces_in_place_for_one_rank},
    {"GathersUnevenRowsForOneRank", gathers_uneven_rows_for_one_rank},
    {"ScattersTheRowsOfOneRank", scatters_the_rows_of_one_rank},
    {"JoinedRanksTakePartInRootedCollectives",
     joined_ranks_take_part_in_rooted_collectives},
    {"RootsThatDifferFailEverywhere", roots_that_differ_fail_everywhere}};

}  // namespace hvd::suite
