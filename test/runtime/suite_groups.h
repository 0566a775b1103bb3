// SPDX-License-Identifier: Apache-2.0
// Groups: tensors that are submitted, negotiated and executed together.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "horovodpp/runtime/execution/reductions.h"
#include "test/runtime/suite_support.h"

namespace hvd::suite {

inline const Reduction kMixed[] = {
    {.dtype = DType::kF32, .op = ReduceOp::kSum},
    {.dtype = DType::kI64, .op = ReduceOp::kSum},
    {.dtype = DType::kBF16, .op = ReduceOp::kSum},
    {.dtype = DType::kF32, .op = ReduceOp::kSum}};

// This rank's members of a group of mixed dtypes and shapes.
inline std::vector<Buffer> mixed_group(int rank) {
  std::vector<Buffer> members;
  for (std::int64_t i = 0; i < 4; ++i) {
    members.push_back(contribution(kMixed[i], rank, {3 + i, 2}));
  }
  return members;
}

template <typename View>
std::vector<View> views_of(const std::vector<Buffer>& buffers) {
  std::vector<View> views;
  for (const Buffer& buffer : buffers) views.push_back(buffer.view());
  return views;
}

inline void expect_mixed_sums(const std::vector<int>& ranks,
                              const std::vector<Buffer>& results) {
  ASSERT_EQ(results.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    expect_reduced(kMixed[i], ranks, results[i]);
  }
}

inline void reduces_groups_of_mixed_dtypes(Runtime& job) {
  for (const ProcessSet& set : every_set(job)) {
    if (!is_in(job, set)) continue;
    const std::vector<int> ranks = members_of(job, set);
    const AllreduceOptions options{
        .name = "g", .op = ReduceOp::kSum, .process_set = set};
    const std::vector<Buffer> members = mixed_group(rank_of(job));
    for (int step = 0; step < 3; ++step) {
      const auto results = job.grouped_allreduce_async(
                                  views_of<ConstTensorView>(members), options)
                               .wait();
      ASSERT_EQ(results.status(), absl::OkStatus());
      expect_mixed_sums(ranks, *results);
    }
    ASSERT_EQ(
        job.grouped_allreduce_async_(views_of<TensorView>(members), options)
            .wait(),
        absl::OkStatus());
    expect_mixed_sums(ranks, members);
  }
}

inline void scatters_groups_of_mixed_dtypes(Runtime& job) {
  const std::vector<Buffer> members = mixed_group(rank_of(job));
  const auto results =
      job.grouped_reducescatter_async(views_of<ConstTensorView>(members),
                                      {.name = "g", .op = ReduceOp::kSum})
          .wait();
  ASSERT_EQ(results.status(), absl::OkStatus());
  ASSERT_EQ(results->size(), 4u);
  const auto ranks = static_cast<std::size_t>(size_of(job));
  for (std::size_t i = 0; i < 4; ++i) {
    std::int64_t first = 0;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rank_of(job)); ++r) {
      first += 2 * runtime::scattered_rows(members[i].shape()[0], ranks, r);
    }
    expect_reduced(kMixed[i], first_ranks(size_of(job)), (*results)[i], first);
  }
}

inline void gathers_groups_of_uneven_rows(Runtime& job) {
  const int me = rank_of(job);
  for (int step = 0; step < 3; ++step) {
    const auto rows = [step](int rank, int member) {
      return (rank + member + step) % 3;
    };
    const int count = step == 2 ? 40 : 4;
    std::vector<Buffer> members;
    for (int m = 0; m < count; ++m) {
      members.push_back(contribution(kMixed[m % 4], me, {rows(me, m), 2}));
    }
    const auto results =
        job.grouped_allgather_async(views_of<ConstTensorView>(members),
                                    {.name = "g"})
            .wait();
    ASSERT_EQ(results.status(), absl::OkStatus());
    ASSERT_EQ(results->size(), members.size());
    for (int m = 0; m < count; ++m) {
      std::vector<double> expected;
      for (int rank = 0; rank < size_of(job); ++rank) {
        for (const double number : numbers_in(
                 contribution(kMixed[m % 4], rank, {rows(rank, m), 2}))) {
          expected.push_back(number);
        }
      }
      EXPECT_EQ(numbers_in((*results)[static_cast<std::size_t>(m)]), expected);
    }
  }
}

inline void groups_without_a_name_are_numbered(Runtime& job) {
  for (int step = 0; step < 5; ++step) {
    const std::vector<Buffer> members = mixed_group(rank_of(job));
    ASSERT_EQ(job.grouped_allreduce_async_(views_of<TensorView>(members),
                                           {.op = ReduceOp::kSum})
                  .wait(),
              absl::OkStatus());
    expect_mixed_sums(first_ranks(size_of(job)), members);
  }
}

// Every error that a rank can detect alone.
inline void a_bad_member_leaves_no_call_queued(Runtime& job) {
  float value = 1;
  bool flag = true;
  const TensorView good = TensorView::of(&value, {});
  const TensorView elsewhere(&value, DType::kF32, Shape({1}), Device::cuda(0));
  for (const TensorView& bad : {TensorView::of(&flag, {}), elsewhere,
                                TensorView(nullptr, DType::kF32, Shape({2}))}) {
    const absl::Status status =
        job.grouped_allreduce_async_({good, bad}, {.name = "g"}).wait();
    EXPECT_TRUE(is_refused(status)) << status;
    EXPECT_THAT(text_of(status), ::testing::HasSubstr("'g': tensor 1"));
  }
  EXPECT_TRUE(
      is_refused(job.grouped_allreduce_async_({}, {.name = "g"}).wait()));
  EXPECT_TRUE(
      is_refused(job.grouped_allgather_async({good, good}, {.name = "g"})
                     .wait()
                     .status()));
  // The name is free again, and no rank waits for the group.
  EXPECT_EQ(job.allreduce_async_(good, {.name = "g"}).wait(), absl::OkStatus());
}

inline void a_group_follows_another_of_its_name(Runtime& job) {
  std::vector<float> values = {1, 2, 3, 4};
  const auto start = [&](std::size_t first) {
    return job.grouped_allreduce_async_(
        {TensorView::of(&values[first], {}),
         TensorView::of(&values[first + 1], {})},
        {.name = "g", .op = ReduceOp::kSum});
  };
  const Future<void> before = start(0);
  const Future<void> after = start(2);
  EXPECT_EQ(before.wait(), absl::OkStatus());
  EXPECT_EQ(after.wait(), absl::OkStatus());
  const auto size = static_cast<float>(size_of(job));
  EXPECT_THAT(values,
              ::testing::ElementsAre(size, 2 * size, 3 * size, 4 * size));
}

inline void groups_that_differ_fail_everywhere_and_the_job_goes_on(
    Runtime& job) {
  const int odd = size_of(job) - 1;
  if (odd == 0) return;
  const bool is_odd = rank_of(job) == odd;
  std::vector<float> x(8, 1);
  const TensorView two = TensorView::of(x.data(), {2});
  const TensorView three = TensorView::of(x.data() + 4, {3});
  const TensorView other = is_odd ? two : three;
  const AllreduceOptions options{.name = "g", .op = ReduceOp::kSum};
  for (int round = 0; round < 2; ++round) {
    // Another shape; an extra member; a tensor instead of a group.
    for (const auto& status :
         {job.grouped_allreduce_async_({two, other}, options).wait(),
          job.grouped_allreduce_async_(
                 is_odd ? std::vector<TensorView>{two}
                        : std::vector<TensorView>{two, three},
                 options)
              .wait(),
          is_odd
              ? job.allreduce_async_(two, options).wait()
              : job.grouped_allreduce_async_({two, three}, options).wait()}) {
      EXPECT_TRUE(is_refused(status)) << status;
      EXPECT_THAT(text_of(status), ::testing::HasSubstr("'g': rank 0 sent "));
      EXPECT_THAT(
          text_of(status),
          ::testing::HasSubstr("rank " + std::to_string(odd) + " sent"));
    }
    EXPECT_EQ(job.grouped_allreduce_async_({two, three}, options).wait(),
              absl::OkStatus());
  }
}

// Ranks submit groups and single tensors in different random orders.
inline void groups_and_tensors_complete_in_any_order(Runtime& job) {
  constexpr int kEach = 60;
  std::mt19937 random(static_cast<unsigned>(3 + rank_of(job)));
  std::vector<int> order;
  for (int i = 0; i < 2 * kEach; ++i) order.push_back(i);
  for (int step = 0; step < 4; ++step) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::vector<float>> tensors(2 * kEach);
    std::vector<Future<void>> done(2 * kEach);
    for (const int i : order) {
      auto& x = tensors[static_cast<std::size_t>(i)];
      x.assign(7, static_cast<float>(i + rank_of(job)));
      const AllreduceOptions options{.name = std::to_string(i),
                                     .op = ReduceOp::kSum};
      done[static_cast<std::size_t>(i)] =
          i < kEach
              ? job.allreduce_async_(TensorView::of(x.data(), {7}), options)
              : job.grouped_allreduce_async_(
                    {TensorView::of(x.data(), {3}),
                     TensorView::of(x.data() + 3, {4})},
                    options);
    }
    const int size = size_of(job);
    for (int i = 0; i < 2 * kEach; ++i) {
      ASSERT_EQ(done[static_cast<std::size_t>(i)].wait(), absl::OkStatus());
      for (const float value : tensors[static_cast<std::size_t>(i)]) {
        ASSERT_EQ(value, static_cast<float>(size * i + size * (size - 1) / 2));
      }
    }
  }
}

inline constexpr Case kGroupCases[] = {
    {"ReducesGroupsOfMixedDtypes", reduces_groups_of_mixed_dtypes},
    {"ScattersGroupsOfMixedDtypes", scatters_groups_of_mixed_dtypes},
    {"GathersGroupsOfUnevenRows", gathers_groups_of_uneven_rows},
    {"GroupsWithoutANameAreNumbered", groups_without_a_name_are_numbered},
    {"ABadMemberLeavesNoCallQueued", a_bad_member_leaves_no_call_queued},
    {"AGroupFollowsAnotherOfItsName", a_group_follows_another_of_its_name},
    {"GroupsThatDifferFailEverywhereAndTheJobGoesOn",
     groups_that_differ_fail_everywhere_and_the_job_goes_on},
    {"GroupsAndTensorsCompleteInAnyOrder",
     groups_and_tensors_complete_in_any_order}};

}  // namespace hvd::suite
