// SPDX-License-Identifier: Apache-2.0
// Adasum: reductions that adapt to the angle between gradients.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "test/collective/adasum_reference.h"
#include "test/runtime/suite_join.h"
#include "test/runtime/suite_support.h"

namespace hvd::suite {

using collective::AdasumCase;

// This rank's tensors of a case.
inline std::vector<Buffer> adasum_tensors(const Runtime& job,
                                          const AdasumCase& test) {
  std::vector<Buffer> tensors;
  for (std::size_t p = 0; p < test.counts.size(); ++p) {
    tensors.push_back(*Buffer::allocate(test.dtype, Shape({test.counts[p]})));
    for (std::int64_t i = 0; i < test.counts[p]; ++i) {
      collective::put(test.dtype, tensors[p].view().data(), i,
                      test.values(rank_of(job), p, i));
    }
  }
  return tensors;
}

// Expects `actual` to be the Adasum of tensor p over `ranks` of the job.
inline void expect_adasum(AdasumCase test, const std::vector<int>& ranks,
                          std::size_t p, const Buffer& actual) {
  const collective::Values of_rank = test.values;
  test.values = [&](int position, std::size_t tensor, std::int64_t i) {
    return of_rank(ranks[static_cast<std::size_t>(position)], tensor, i);
  };
  const collective::Expected expected =
      collective::expected_of(test, static_cast<int>(ranks.size()), p);
  ASSERT_EQ(actual.num_elements(), test.counts[p]);
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double got = collective::get(test.dtype, actual.view().data(),
                                       static_cast<std::int64_t>(i));
    ASSERT_NEAR(got, static_cast<double>(expected.values[i]),
                static_cast<double>(expected.slack[i]))
        << collective::describe(test) << " at element " << i << " of tensor "
        << p;
  }
}

inline AllreduceOptions adasum_options(std::string name,
                                       const ProcessSet& set) {
  return {.name = std::move(name),
          .op = ReduceOp::kAdasum,
          .prescale_factor = 0.5,
          .postscale_factor = 2,
          .process_set = set};
}

inline AdasumCase adasum_case(DType dtype, std::vector<std::int64_t> counts) {
  return {.dtype = dtype,
          .counts = std::move(counts),
          .prescale = 0.5,
          .postscale = 2};
}

inline void adasum_of_one_tensor_on_every_set(Runtime& job) {
  for (const ProcessSet& set : every_set(job)) {
    if (!is_in(job, set)) continue;
    for (const DType dtype : collective::kFloatingTypes) {
      const AdasumCase test = adasum_case(dtype, {777});
      const std::vector<Buffer> mine = adasum_tensors(job, test);
      for (int step = 0; step < 3; ++step) {
        const auto result =
            job.allreduce_async(mine[0].view(),
                                adasum_options(name_of(dtype), set))
                .wait();
        ASSERT_EQ(result.status(), absl::OkStatus());
        expect_adasum(test, members_of(job, set), 0, *result);
      }
      ASSERT_EQ(job.allreduce_async_(mine[0].view(),
                                     adasum_options(name_of(dtype), set))
                    .wait(),
                absl::OkStatus());
      expect_adasum(test, members_of(job, set), 0, mine[0]);
    }
  }
}

inline void adasum_of_groups_and_fused_tensors(Runtime& job) {
  for (const ProcessSet& set : every_set(job)) {
    if (!is_in(job, set)) continue;
    const AdasumCase test =
        adasum_case(DType::kF32, {5, 0, 300, 1, 64, 2, 1000});
    for (int step = 0; step < 3; ++step) {
      const std::vector<Buffer> group = adasum_tensors(job, test);
      std::vector<ConstTensorView> views;
      for (const Buffer& buffer : group) views.push_back(buffer.view());
      const std::vector<Buffer> singles = adasum_tensors(job, test);
      std::vector<Future<void>> done;
      for (std::size_t p = 0; p < singles.size(); ++p) {
        done.push_back(job.allreduce_async_(
            singles[p].view(), adasum_options(std::to_string(p), set)));
      }
      const auto results =
          job.grouped_allreduce_async(views, adasum_options("group", set))
              .wait();
      ASSERT_EQ(results.status(), absl::OkStatus());
      for (std::size_t p = 0; p < singles.size(); ++p) {
        ASSERT_EQ(done[p].wait(), absl::OkStatus());
        expect_adasum(test, members_of(job, set), p, singles[p]);
        expect_adasum(test, members_of(job, set), p, (*results)[p]);
      }
    }
  }
}

// Adasum among other reductions, on overlapping process sets.
inline void adasum_beside_other_operations(Runtime& job) {
  const Reduction sum{.dtype = DType::kF32, .op = ReduceOp::kSum};
  const AdasumCase test = adasum_case(DType::kF32, {40});
  for (int step = 0; step < 5; ++step) {
    std::vector<Buffer> sums;
    std::vector<Buffer> merged;
    std::vector<Future<void>> done;
    for (const ProcessSet& set : every_set(job)) {
      if (!is_in(job, set)) continue;
      sums.push_back(contribution(sum, rank_of(job), {40}));
      merged.push_back(adasum_tensors(job, test)[0]);
      done.push_back(job.allreduce_async_(
          sums.back().view(),
          {.name = "sum", .op = sum.op, .process_set = set}));
      done.push_back(job.allreduce_async_(merged.back().view(),
                                          adasum_options("adasum", set)));
    }
    for (const Future<void>& future : done) {
      ASSERT_EQ(future.wait(), absl::OkStatus());
    }
    std::size_t next = 0;
    for (const ProcessSet& set : every_set(job)) {
      if (!is_in(job, set)) continue;
      expect_reduced(sum, members_of(job, set), sums[next]);
      expect_adasum(test, members_of(job, set), 0, merged[next++]);
    }
  }
}

inline void joined_ranks_are_zeros_in_an_adasum(Runtime& job) {
  for (const ProcessSet& set : every_set(job)) {
    if (!is_in(job, set)) continue;
    train_unevenly(job, set, [&](int step, const std::vector<int>& live) {
      AdasumCase test = adasum_case(DType::kF32, {1, 90});
      const std::vector<Buffer> mine = adasum_tensors(job, test);
      std::vector<TensorView> views;
      for (const Buffer& buffer : mine) views.push_back(buffer.view());
      ASSERT_EQ(job.grouped_allreduce_async_(
                       views, adasum_options(std::to_string(step % 2), set))
                    .wait(),
                absl::OkStatus());
      test.values = [&](int rank, std::size_t p, std::int64_t i) {
        const bool is_live =
            std::find(live.begin(), live.end(), rank) != live.end();
        return is_live ? collective::mixed_value(rank, p, i) : 0.0;
      };
      for (std::size_t p = 0; p < mine.size(); ++p) {
        expect_adasum(test, members_of(job, set), p, mine[p]);
      }
    });
  }
}

inline void adasum_of_integers_is_refused(Runtime& job) {
  for (const DType dtype : kAllDTypes) {
    const Reduction adasum{.dtype = dtype, .op = ReduceOp::kAdasum};
    const Buffer mine = contribution(adasum, rank_of(job), {8});
    const auto scattered =
        job.reducescatter_async(mine.view(), {.op = adasum.op}).wait();
    EXPECT_TRUE(is_refused(scattered.status())) << scattered.status();
    if (is_floating_point(dtype)) continue;
    const absl::Status refused =
        job.allreduce_async_(mine.view(), {.op = adasum.op}).wait();
    EXPECT_TRUE(is_refused(refused)) << refused;
    EXPECT_THAT(text_of(refused), ::testing::HasSubstr(name_of(dtype)));
    // One bad member fails its group.
    const Buffer good = contribution({.dtype = DType::kF32}, rank_of(job), {3});
    EXPECT_TRUE(is_refused(job.grouped_allreduce_async_(
                                  {good.view(), mine.view()}, {.op = adasum.op})
                               .wait()));
  }
  const AdasumCase test = adasum_case(DType::kF64, {12});
  const Buffer mine = adasum_tensors(job, test)[0];
  ASSERT_EQ(job.allreduce_async_(mine.view(),
                                 adasum_options("x", ProcessSet::global()))
                .wait(),
            absl::OkStatus());
  expect_adasum(test, first_ranks(size_of(job)), 0, mine);
}

inline constexpr Case kAdasumCases[] = {
    {"AdasumOfOneTensorOnEverySet", adasum_of_one_tensor_on_every_set},
    {"AdasumOfGroupsAndFusedTensors", adasum_of_groups_and_fused_tensors},
    {"AdasumBesideOtherOperations", adasum_beside_other_operations},
    {"JoinedRanksAreZerosInAnAdasum", joined_ranks_are_zeros_in_an_adasum},
    {"AdasumOfIntegersIsRefused", adasum_of_integers_is_refused},
};

}  // namespace hvd::suite
