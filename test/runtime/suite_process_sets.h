// SPDX-License-Identifier: Apache-2.0
// Process sets: all ranks add and remove them, only members use them, and sets
// do not block each other.
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "test/runtime/suite_support.h"

namespace hvd::suite {

// The sum of 1 over the members.
inline float count_members(Runtime& job, const ProcessSet& set,
                           const std::string& name = "count") {
  float one = 1;
  EXPECT_EQ(job.allreduce_async_(
                   TensorView::of(&one, {}),
                   {.name = name, .op = ReduceOp::kSum, .process_set = set})
                .wait(),
            absl::OkStatus());
  return one;
}

inline void the_global_set_is_there_from_the_start(Runtime& job) {
  const ProcessSet global = ProcessSet::global();
  EXPECT_EQ(*job.ranks_of(global), first_ranks(size_of(job)));
  EXPECT_EQ(*job.rank_in(global), rank_of(job));
  ASSERT_EQ(job.process_sets().size(), 1u);
  EXPECT_EQ(job.process_sets()[0], global);
  EXPECT_EQ(job.process_sets()[0].ranks(), first_ranks(size_of(job)));
}

inline void sets_are_added_and_asked_about(Runtime& job) {
  const std::vector<ProcessSet> sets = every_set(job);
  EXPECT_EQ(job.process_sets(), sets);
  for (std::size_t i = 1; i < sets.size(); ++i) {
    const std::vector<int> ranks = some_sets(size_of(job))[i - 1];
    EXPECT_EQ(sets[i].id(), i);
    EXPECT_EQ(sets[i].ranks(), ranks);
    EXPECT_EQ(*job.ranks_of(sets[i]), ranks);
    const auto mine = std::find(ranks.begin(), ranks.end(), rank_of(job));
    if (mine != ranks.end()) {
      EXPECT_EQ(*job.rank_in(sets[i]), mine - ranks.begin());
      EXPECT_EQ(count_members(job, sets[i]), static_cast<float>(ranks.size()));
      continue;
    }
    EXPECT_EQ(text_of(job.rank_in(sets[i]).status()),
              "rank " + std::to_string(rank_of(job)) + " is not a member of " +
                  sets[i].to_string());
  }
}

inline void ranks_that_are_no_members_are_refused(Runtime& job) {
  if (size_of(job) == 1) return;
  const ProcessSet set = add_set(job, {0});
  if (rank_of(job) == 0) {
    EXPECT_EQ(count_members(job, set), 1.0f);
    return;
  }
  float value = 1;
  const TensorView view = TensorView::of(&value, {1});
  for (const auto& status :
       {job.allreduce_async_(view, {.process_set = set}).wait(),
        job.grouped_allreduce_async_({view}, {.process_set = set}).wait(),
        job.allgather_async(view, {.process_set = set}).wait().status(),
        job.broadcast_async_(view, 0, {.process_set = set}).wait(),
        job.alltoall_async(view, {.process_set = set}).wait().status(),
        job.reducescatter_async(view, {.process_set = set}).wait().status(),
        job.barrier_async(set).wait(), job.join_async(set).wait().status()}) {
    EXPECT_TRUE(is_refused(status)) << status;
    EXPECT_EQ(text_of(status), "rank " + std::to_string(rank_of(job)) +
                                   " is not a member of process set 1 [0]");
  }
}

inline void sets_that_cannot_be_are_refused_everywhere(Runtime& job) {
  const int size = size_of(job);
  const auto refusal = [&](std::vector<int> ranks) {
    return job.add_process_set_async(std::move(ranks)).wait().status();
  };
  EXPECT_TRUE(is_refused(refusal({})));
  EXPECT_TRUE(is_refused(refusal({0, 0})));
  EXPECT_TRUE(is_refused(refusal({0, size})));
  EXPECT_TRUE(is_refused(refusal({-1})));
  std::vector<int> backwards = first_ranks(size);
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_TRUE(absl::IsAlreadyExists(refusal(backwards)));
  if (size > 1) {
    add_set(job, {0});
    const absl::Status again = refusal({0});
    EXPECT_TRUE(absl::IsAlreadyExists(again)) << again;
    EXPECT_THAT(text_of(again), ::testing::HasSubstr("number 1"));
    // The ranks pass different sets.
    const absl::Status differ = refusal({rank_of(job) == 0 ? 0 : 1});
    EXPECT_TRUE(is_refused(differ)) << differ;
    EXPECT_THAT(text_of(differ), ::testing::HasSubstr("[0]"));
    EXPECT_THAT(text_of(differ), ::testing::HasSubstr("[1]"));
  }
  EXPECT_EQ(count_members(job, ProcessSet::global()), static_cast<float>(size));
}

inline void removed_sets_are_refused_and_their_numbers_used_again(
    Runtime& job) {
  const int size = size_of(job);
  if (size == 1) return;
  const ProcessSet first = add_set(job, {0});
  const ProcessSet second = add_set(job, {1});
  EXPECT_TRUE(
      is_refused(job.remove_process_set_async(ProcessSet::global()).wait()));
  EXPECT_EQ(job.remove_process_set_async(second).wait(), absl::OkStatus());
  EXPECT_EQ(job.remove_process_set_async(first).wait(), absl::OkStatus());
  float value = 1;
  for (const ProcessSet& gone : {first, second}) {
    EXPECT_TRUE(is_refused(job.remove_process_set_async(gone).wait()));
    EXPECT_TRUE(is_refused(job.ranks_of(gone).status()));
    const absl::Status status =
        job.allreduce_async_(TensorView::of(&value, {}), {.process_set = gone})
            .wait();
    EXPECT_TRUE(is_refused(status));
    EXPECT_THAT(text_of(status), ::testing::HasSubstr("does not exist"));
  }
  // The id that has been free longest is reused first.
  const ProcessSet third = add_set(job, {size - 1});
  EXPECT_EQ(third.id(), second.id());
  if (size > 2) {
    EXPECT_TRUE(is_refused(job.ranks_of(second).status()));
    EXPECT_EQ(add_set(job, {0, 1}).id(), first.id());
  }
  if (is_in(job, third)) {
    EXPECT_EQ(count_members(job, third), 1.0f);
  }
}

inline void sets_come_and_go_many_times(Runtime& job) {
  const int size = size_of(job);
  if (size == 1) return;
  for (int round = 0; round < 15; ++round) {
    const std::vector<ProcessSet> sets = every_set(job);
    for (const ProcessSet& set : sets) {
      if (!is_in(job, set)) continue;
      EXPECT_EQ(count_members(job, set),
                static_cast<float>(members_of(job, set).size()));
    }
    for (const ProcessSet& set : sets) {
      if (set.is_global()) continue;
      ASSERT_EQ(job.remove_process_set_async(set).wait(), absl::OkStatus());
    }
    EXPECT_EQ(job.process_sets().size(), 1u);
  }
}

// All pairs of ranks, each with the same names, submitted in a different order
// on every rank.
inline void overlapping_sets_do_not_get_in_each_others_way(Runtime& job) {
  const int size = size_of(job);
  if (size < 3) return;
  std::vector<ProcessSet> pairs;
  for (int a = 0; a < size; ++a) {
    for (int b = a + 1; b < size; ++b) pairs.push_back(add_set(job, {a, b}));
  }
  std::rotate(pairs.begin(),
              pairs.begin() + rank_of(job) % static_cast<int>(pairs.size()),
              pairs.end());
  for (int step = 0; step < 20; ++step) {
    std::vector<std::vector<float>> values;
    std::vector<Future<void>> done;
    values.reserve(pairs.size());
    for (const ProcessSet& pair : pairs) {
      if (!is_in(job, pair)) continue;
      // One name has a different shape in each set.
      values.emplace_back(1 + pair.id(), static_cast<float>(rank_of(job)));
      done.push_back(job.allreduce_async_(
          TensorView::of(values.back().data(), {1 + pair.id()}),
          {.name = "x", .op = ReduceOp::kSum, .process_set = pair}));
    }
    std::size_t next = 0;
    for (const ProcessSet& pair : pairs) {
      if (!is_in(job, pair)) continue;
      ASSERT_EQ(done[next].wait(), absl::OkStatus());
      EXPECT_EQ(values[next].back(),
                static_cast<float>(pair.ranks()[0] + pair.ranks()[1]));
      ++next;
    }
  }
}

// Rank 0 waits in one set while all ranks go on in others.
inline void a_set_that_waits_blocks_no_other(Runtime& job) {
  const int size = size_of(job);
  if (size < 3) return;
  const ProcessSet waiting = add_set(job, {0, 1});
  const ProcessSet others = add_set(job, {0, 2});
  float value = 1;
  Future<void> early;
  const AllreduceOptions options{
      .name = "late", .op = ReduceOp::kSum, .process_set = waiting};
  if (rank_of(job) == 0) {
    early = job.allreduce_async_(TensorView::of(&value, {}), options);
  }
  for (int step = 0; step < 30; ++step) {
    if (is_in(job, others)) {
      EXPECT_EQ(count_members(job, others), 2.0f);
    }
    EXPECT_EQ(count_members(job, ProcessSet::global(), "all"),
              static_cast<float>(size));
  }
  if (rank_of(job) == 0) {
    EXPECT_FALSE(early.poll());
  }
  ASSERT_EQ(job.barrier_async().wait(), absl::OkStatus());
  if (rank_of(job) == 1) {
    early = job.allreduce_async_(TensorView::of(&value, {}), options);
  }
  if (is_in(job, waiting)) {
    EXPECT_EQ(early.wait(), absl::OkStatus());
    EXPECT_EQ(value, 2.0f);
  }
}

// Ranks visit the sets in different orders.
inline void calls_without_a_name_are_numbered_per_set(Runtime& job) {
  std::vector<ProcessSet> sets = every_set(job);
  std::rotate(sets.begin(),
              sets.begin() + rank_of(job) % static_cast<int>(sets.size()),
              sets.end());
  for (int step = 0; step < 10; ++step) {
    std::vector<float> ones(sets.size(), 1);
    std::vector<Future<void>> done(sets.size());
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (!is_in(job, sets[i])) continue;
      done[i] =
          job.allreduce_async_(TensorView::of(&ones[i], {}),
                               {.op = ReduceOp::kSum, .process_set = sets[i]});
    }
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (!is_in(job, sets[i])) continue;
      ASSERT_EQ(done[i].wait(), absl::OkStatus());
      EXPECT_EQ(ones[i], static_cast<float>(members_of(job, sets[i]).size()));
    }
  }
}

inline void barriers_are_of_their_set(Runtime& job) {
  const int size = size_of(job);
  if (size == 1) return;
  const ProcessSet set = add_set(job, first_ranks(size - 1));
  if (is_in(job, set)) {
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(job.barrier_async(set).wait(), absl::OkStatus());
    }
  }
  EXPECT_EQ(job.barrier_async().wait(), absl::OkStatus());
}

inline void removing_a_set_fails_its_waiting_calls(Runtime& job) {
  if (size_of(job) < 3) return;
  const ProcessSet set = add_set(job, {0, 1});
  float value = 1;
  Future<void> pending;
  if (rank_of(job) == 0) {
    pending = job.allreduce_async_(TensorView::of(&value, {}),
                                   {.name = "x", .process_set = set});
  }
  EXPECT_EQ(job.remove_process_set_async(set).wait(), absl::OkStatus());
  if (rank_of(job) == 0) {
    const absl::Status status = pending.wait();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(text_of(status), ::testing::HasSubstr("process set 1"));
  }
  EXPECT_EQ(count_members(job, ProcessSet::global()),
            static_cast<float>(size_of(job)));
}

// Pairs of ranks make their sets at the same time, without the other ranks.
inline void members_create_sets_without_the_others(Runtime& job) {
  const int size = size_of(job);
  const int rank = rank_of(job);
  const int pair = rank / 2;
  std::vector<int> ranks = {2 * pair};
  if (2 * pair + 1 < size) ranks.push_back(2 * pair + 1);
  if (rank % 4 == 3) return;                    // Its pair goes without a set,
  if (ranks.back() % 4 == 3) ranks.pop_back();  // of which it is no member.
  std::vector<ProcessSet> sets;
  for (const std::string key : {"a", "b", "a"}) {
    const auto set = job.new_process_set_async(ranks, key).wait();
    ASSERT_EQ(set.status(), absl::OkStatus());
    EXPECT_EQ(set->ranks(), ranks);
    sets.push_back(*set);
  }
  for (const ProcessSet& set : sets) {
    EXPECT_EQ(count_members(job, set), static_cast<float>(ranks.size()));
  }
  EXPECT_NE(sets[0].id(), sets[1].id());
  EXPECT_EQ(job.free_process_set_async(sets[1]).wait(), absl::OkStatus());
  EXPECT_FALSE(job.ranks_of(sets[1]).ok());
  EXPECT_EQ(count_members(job, sets[0]), static_cast<float>(ranks.size()));
  EXPECT_EQ(count_members(job, sets[2]), static_cast<float>(ranks.size()));
}

inline void sets_that_members_create_come_and_go(Runtime& job) {
  const std::vector<int> all = first_ranks(size_of(job));
  for (int i = 0; i < 20; ++i) {
    const auto set = job.new_process_set_async(all, std::to_string(i)).wait();
    ASSERT_EQ(set.status(), absl::OkStatus());
    EXPECT_EQ(count_members(job, *set), static_cast<float>(all.size()));
    EXPECT_EQ(count_members(job, ProcessSet::global()),
              static_cast<float>(all.size()));
    EXPECT_EQ(job.free_process_set_async(*set).wait(), absl::OkStatus());
  }
}

inline void sets_of_others_are_refused_to_a_member(Runtime& job) {
  const int size = size_of(job);
  const auto refused = [&](std::vector<int> ranks) {
    const auto set = job.new_process_set_async(std::move(ranks), "x");
    EXPECT_TRUE(set.was_ready());
    EXPECT_TRUE(is_refused(set.wait().status())) << set.wait().status();
  };
  refused({});
  refused({rank_of(job), rank_of(job)});
  refused({rank_of(job), size});
  if (size > 1) refused({(rank_of(job) + 1) % size});
  EXPECT_TRUE(
      is_refused(job.free_process_set_async(ProcessSet::global()).wait()));
}

inline constexpr Case kProcessSetCases[] = {
    {"MembersCreateSetsWithoutTheOthers",
     members_create_sets_without_the_others},
    {"SetsThatMembersCreateComeAndGo", sets_that_members_create_come_and_go},
    {"SetsOfOthersAreRefusedToAMember", sets_of_others_are_refused_to_a_member},
    {"TheGlobalSetIsThereFromTheStart", the_global_set_is_there_from_the_start},
    {"SetsAreAddedAndAskedAbout", sets_are_added_and_asked_about},
    {"RanksThatAreNoMembersAreRefused", ranks_that_are_no_members_are_refused},
    {"SetsThatCannotBeAreRefusedEverywhere",
     sets_that_cannot_be_are_refused_everywhere},
    {"RemovedSetsAreRefusedAndTheirNumbersUsedAgain",
     removed_sets_are_refused_and_their_numbers_used_again},
    {"SetsComeAndGoManyTimes", sets_come_and_go_many_times},
    {"OverlappingSetsDoNotGetInEachOthersWay",
     overlapping_sets_do_not_get_in_each_others_way},
    {"ASetThatWaitsBlocksNoOther", a_set_that_waits_blocks_no_other},
    {"CallsWithoutANameAreNumberedPerSet",
     calls_without_a_name_are_numbered_per_set},
    {"BarriersAreOfTheirSet", barriers_are_of_their_set},
    {"RemovingASetFailsItsWaitingCalls",
     removing_a_set_fails_its_waiting_calls}};

}  // namespace hvd::suite
