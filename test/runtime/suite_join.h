// SPDX-License-Identifier: Apache-2.0
// Join: ranks with less data take part in the remaining collectives of the
// others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "horovodpp/runtime/execution/reductions.h"
#include "test/runtime/suite_support.h"

namespace hvd::suite {

// The steps that `rank` has data for: different on every rank.
inline int steps_of(int rank) { return 3 + 2 * rank; }

// The ranks of a set that have data for `step`.
inline std::vector<int> live_at(int step, const std::vector<int>& ranks) {
  std::vector<int> live;
  for (const int rank : ranks) {
    if (step < steps_of(rank)) live.push_back(rank);
  }
  return live;
}

// The rank that joins last if each rank joins when it runs out of data.
inline int last_to_join(const std::vector<int>& ranks) { return ranks.back(); }

// Calls `body(step, live ranks)` while this rank has data, then joins.
template <typename Body>
void train_unevenly(Runtime& job, const ProcessSet& set, Body body) {
  const std::vector<int> ranks = members_of(job, set);
  for (int step = 0; step < steps_of(rank_of(job)); ++step) {
    body(step, live_at(step, ranks));
  }
  const auto last = job.join_async(set).wait();
  ASSERT_EQ(last.status(), absl::OkStatus());
  EXPECT_EQ(*last, last_to_join(ranks));
}

inline Reduction average_over(Reduction reduction, std::size_t ranks) {
  if (reduction.op == ReduceOp::kAverage) {
    reduction.participants = static_cast<int>(ranks);
  }
  return reduction;
}

inline void joined_ranks_change_no_reduction(Runtime& job) {
  for (const ProcessSet& set : every_set(job)) {
    if (!is_in(job, set)) continue;
    const std::size_t members = members_of(job, set).size();
    train_unevenly(job, set, [&](int, const std::vector<int>& live) {
      for (const DType dtype : kAllDTypes) {
        for (const ReduceOp op : collective::kAllOps) {
          const Reduction reduction{.dtype = dtype, .op = op};
          if (!makes_sense(reduction)) continue;
          const Buffer mine = contribution(reduction, rank_of(job), {5});
          const auto result =
              job.allreduce_async(mine.view(), {.name = describe(reduction),
                                                .op = op,
                                                .process_set = set})
                  .wait();
          ASSERT_EQ(result.status(), absl::OkStatus());
          // An average divides by the size of the set.
          expect_reduced(average_over(reduction, members), live, *result);
        }
      }
    });
  }
}

inline void an_average_may_be_of_the_participants(Runtime& job) {
  train_unevenly(
      job, ProcessSet::global(), [&](int, const std::vector<int>& live) {
        for (const DType dtype : {DType::kF32, DType::kI32, DType::kF16}) {
          const Reduction reduction{.dtype = dtype, .op = ReduceOp::kAverage};
          const Buffer mine = contribution(reduction, rank_of(job), {5});
          const AllreduceOptions options{.name = name_of(dtype),
                                         .average_of_participants = true};
          const auto result = job.allreduce_async(mine.view(), options).wait();
          ASSERT_EQ(result.status(), absl::OkStatus());
          expect_reduced(average_over(reduction, live.size()), live, *result);
        }
      });
}

// All in flight at once: fused, in groups, with cached names and without names.
inline void joined_ranks_take_part_in_fused_batches_and_groups(Runtime& job) {
  train_unevenly(
      job, ProcessSet::global(), [&](int step, const std::vector<int>& live) {
        const Reduction sum{.dtype = DType::kF32, .op = ReduceOp::kSum};
        const Reduction whole{.dtype = DType::kI32, .op = ReduceOp::kSum};
        std::vector<Buffer> tensors;
        std::vector<Future<void>> done;
        for (int i = 0; i < 20; ++i) {
          tensors.push_back(contribution(sum, rank_of(job), {1 + i}));
          done.push_back(job.allreduce_async_(
              tensors.back().view(),
              {.name = i < 15
                           ? std::to_string(i)
                           : std::to_string(i) + " of " + std::to_string(step),
               .op = sum.op}));
        }
        const Buffer a = contribution(sum, rank_of(job), {6});
        const Buffer b = contribution(whole, rank_of(job), {2, 2});
        ASSERT_EQ(job.grouped_allreduce_async_({a.view(), b.view()},
                                               {.name = "g", .op = sum.op})
                      .wait(),
                  absl::OkStatus());
        expect_reduced(sum, live, a);
        expect_reduced(whole, live, b);
        for (std::size_t i = 0; i < tensors.size(); ++i) {
          ASSERT_EQ(done[i].wait(), absl::OkStatus());
          expect_reduced(sum, live, tensors[i]);
        }
      });
}

inline void joined_ranks_add_no_rows(Runtime& job) {
  const Reduction kind{.dtype = DType::kF32, .op = ReduceOp::kSum};
  const int me = rank_of(job);
  train_unevenly(
      job, ProcessSet::global(), [&](int step, const std::vector<int>& live) {
        const auto rows = [&](int rank) { return 1 + (rank + step) % 2; };
        const Buffer mine = contribution(kind, me, {rows(me), 2});
        const auto all = job.allgather_async(mine.view(), {.name = "a"}).wait();
        const auto both = job.grouped_allgather_async(
                                 {mine.view(), mine.view()}, {.name = "g"})
                              .wait();
        ASSERT_EQ(all.status(), absl::OkStatus());
        ASSERT_EQ(both.status(), absl::OkStatus());
        std::vector<double> expected;
        for (const int rank : live) {
          for (const double number :
               numbers_in(contribution(kind, rank, {rows(rank), 2}))) {
            expected.push_back(number);
          }
        }
        EXPECT_EQ(numbers_in(*all), expected);
        EXPECT_EQ(numbers_in(both->at(1)), expected);
      });
}

inline void joined_ranks_take_part_in_reducescatters(Runtime& job) {
  const auto ranks = static_cast<std::size_t>(size_of(job));
  std::int64_t first = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(rank_of(job)); ++r) {
    first += 3 * runtime::scattered_rows(7, ranks, r);
  }
  train_unevenly(
      job, ProcessSet::global(), [&](int, const std::vector<int>& live) {
        for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin}) {
          const Reduction reduction{.dtype = DType::kF64, .op = op};
          const Buffer mine = contribution(reduction, rank_of(job), {7, 3});
          const auto part = job.reducescatter_async(
                                   mine.view(), {.name = name_of(op), .op = op})
                                .wait();
          ASSERT_EQ(part.status(), absl::OkStatus());
          expect_reduced(reduction, live, *part, first);
        }
      });
}

// A joined rank receives broadcasts. Operations that need a joined rank's data
// fail on all live ranks, and the job goes on.
inline void calls_that_need_a_joined_rank_fail_on_the_others(Runtime& job) {
  const Reduction kind{.dtype = DType::kF32};
  const int last = size_of(job) - 1;
  train_unevenly(
      job, ProcessSet::global(), [&](int, const std::vector<int>& live) {
        const Buffer mine = contribution(kind, rank_of(job), {4});
        const auto copy =
            job.broadcast_async(mine.view(), last, {.name = "from the last"})
                .wait();
        ASSERT_EQ(copy.status(), absl::OkStatus());
        EXPECT_EQ(numbers_in(*copy), numbers_in(contribution(kind, last, {4})));

        const bool all_live = static_cast<int>(live.size()) == size_of(job);
        const auto from_first =
            job.broadcast_async(mine.view(), 0, {.name = "from the first"})
                .wait();
        EXPECT_EQ(from_first.ok(), all_live) << from_first.status();
        const Buffer rows = contribution(kind, rank_of(job), {size_of(job)});
        const auto exchanged =
            job.alltoall_async(rows.view(), {.name = "x"}).wait();
        EXPECT_EQ(exchanged.ok(), all_live) << exchanged.status();
        if (all_live) return;
        for (const auto& status : {from_first.status(), exchanged.status()}) {
          EXPECT_TRUE(is_refused(status)) << status;
          EXPECT_THAT(text_of(status), ::testing::HasSubstr("joined"));
        }
      });
}

inline void reductions_without_a_neutral_value_fail_on_every_live_rank(
    Runtime& job) {
  train_unevenly(
      job, ProcessSet::global(), [&](int, const std::vector<int>& live) {
        float value = 2;
        const absl::Status status =
            job.allreduce_async_(TensorView::of(&value, {}),
                                 {.name = "x",
                                  .op = ReduceOp::kProduct,
                                  .prescale_factor = 0})
                .wait();
        const bool all_live = static_cast<int>(live.size()) == size_of(job);
        EXPECT_EQ(status.ok(), all_live) << status;
        if (!all_live) {
          EXPECT_TRUE(is_refused(status)) << status;
        }
      });
}

// All live ranks submit long before rank 0 joins.
inline void a_call_that_waits_for_a_rank_goes_on_at_its_join(Runtime& job) {
  const int size = size_of(job);
  float value = 1;
  if (rank_of(job) == 0) {
    ASSERT_EQ(job.join_async().wait().status(), absl::OkStatus());
  } else {
    ASSERT_EQ(job.allreduce_async_(TensorView::of(&value, {}),
                                   {.name = "x", .op = ReduceOp::kSum})
                  .wait(),
              absl::OkStatus());
    EXPECT_EQ(value, static_cast<float>(size - 1));
    ASSERT_EQ(job.join_async().wait().status(), absl::OkStatus());
  }
}

// A rank can join again as soon as its last join is done.
inline void ranks_join_again_and_again(Runtime& job) {
  const int size = size_of(job);
  for (int round = 0; round < 10; ++round) {
    const auto last = job.join_async().wait();
    ASSERT_EQ(last.status(), absl::OkStatus());
    EXPECT_GE(*last, 0);
    EXPECT_LT(*last, size);
    // All ranks got the same result.
    std::int32_t heard = *last;
    ASSERT_EQ(job.allreduce_async_(TensorView::of(&heard, {}),
                                   {.name = "heard", .op = ReduceOp::kMax})
                  .wait(),
              absl::OkStatus());
    EXPECT_EQ(heard, *last);
  }
}

// Ranks with different numbers of unnamed calls match again after a join.
inline void calls_without_a_name_match_again_after_a_join(Runtime& job) {
  for (int epoch = 0; epoch < 3; ++epoch) {
    train_unevenly(job, ProcessSet::global(),
                   [&](int, const std::vector<int>& live) {
                     float one = 1;
                     ASSERT_EQ(job.allreduce_async_(TensorView::of(&one, {}),
                                                    {.op = ReduceOp::kSum})
                                   .wait(),
                               absl::OkStatus());
                     EXPECT_EQ(one, static_cast<float>(live.size()));
                   });
    ASSERT_EQ(job.barrier_async().wait(), absl::OkStatus());
  }
}

inline void a_set_joins_while_the_others_go_on(Runtime& job) {
  const int size = size_of(job);
  if (size < 3) return;
  const ProcessSet set = add_set(job, {0, 1});
  Future<int> join;
  if (rank_of(job) == 0) join = job.join_async(set);
  float value = 1;
  for (int step = 0; step < 10; ++step) {
    // Rank 1 goes on in the set, and all ranks go on outside the set.
    if (rank_of(job) == 1) {
      value = 3;
      ASSERT_EQ(job.allreduce_async_(
                       TensorView::of(&value, {}),
                       {.name = "x", .op = ReduceOp::kSum, .process_set = set})
                    .wait(),
                absl::OkStatus());
      EXPECT_EQ(value, 3.0f);
    }
    value = 1;
    ASSERT_EQ(job.allreduce_async_(TensorView::of(&value, {}),
                                   {.name = "y", .op = ReduceOp::kSum})
                  .wait(),
              absl::OkStatus());
    EXPECT_EQ(value, static_cast<float>(size));
  }
  if (rank_of(job) == 0) {
    EXPECT_FALSE(join.poll());
    const absl::Status late =
        job.allreduce_async_(TensorView::of(&value, {}), {.process_set = set})
            .wait();
    EXPECT_TRUE(absl::IsFailedPrecondition(late)) << late;
    EXPECT_THAT(text_of(late), ::testing::HasSubstr("rank 0 has joined"));
  }
  ASSERT_EQ(job.barrier_async().wait(), absl::OkStatus());
  if (rank_of(job) == 1) join = job.join_async(set);
  if (is_in(job, set)) {
    const auto last = join.wait();
    ASSERT_EQ(last.status(), absl::OkStatus());
    EXPECT_EQ(*last, 1);
  }
}

inline constexpr Case kJoinCases[] = {
    {"JoinedRanksChangeNoReduction", joined_ranks_change_no_reduction},
    {"AnAverageMayBeOfTheParticipants", an_average_may_be_of_the_participants},
    {"JoinedRanksTakePartInFusedBatchesAndGroups",
     joined_ranks_take_part_in_fused_batches_and_groups},
    {"JoinedRanksAddNoRows", joined_ranks_add_no_rows},
    {"JoinedRanksTakePartInReducescatters",
     joined_ranks_take_part_in_reducescatters},
    {"CallsThatNeedAJoinedRankFailOnTheOthers",
     calls_that_need_a_joined_rank_fail_on_the_others},
    {"ReductionsWithoutANeutralValueFailOnEveryLiveRank",
     reductions_without_a_neutral_value_fail_on_every_live_rank},
    {"ACallThatWaitsForARankGoesOnAtItsJoin",
     a_call_that_waits_for_a_rank_goes_on_at_its_join},
    {"RanksJoinAgainAndAgain", ranks_join_again_and_again},
    {"CallsWithoutANameMatchAgainAfterAJoin",
     calls_without_a_name_match_again_after_a_join},
    {"ASetJoinsWhileTheOthersGoOn", a_set_joins_while_the_others_go_on}};

}  // namespace hvd::suite
