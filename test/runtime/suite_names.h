// SPDX-License-Identifier: Apache-2.0
// How ranks match each other's tensors by name: in any order, over many steps,
// and with arguments that change.
#pragma once

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "test/runtime/suite_support.h"

namespace hvd::suite {

// Ranks submit 1,000 named tensors in different random orders.
inline void completes_a_thousand_tensors_in_any_order(Runtime& job) {
  constexpr int kTensors = 1000;
  const int rank = job.topology().rank();
  const int size = job.topology().size();
  std::mt19937 random(static_cast<unsigned>(17 + rank));
  std::vector<std::vector<float>> tensors(kTensors);
  std::vector<int> order(kTensors);
  std::iota(order.begin(), order.end(), 0);
  for (int step = 0; step < 2; ++step) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Future<void>> done(kTensors);
    for (int i : order) {
      auto& tensor = tensors[static_cast<std::size_t>(i)];
      tensor.assign(static_cast<std::size_t>(1 + i % 37),
                    static_cast<float>(i + rank));
      done[static_cast<std::size_t>(i)] = job.allreduce_async_(
          TensorView::of(tensor.data(), {1 + i % 37}),
          {.name = "t" + std::to_string(i), .op = ReduceOp::kSum});
    }
    for (int i = 0; i < kTensors; ++i) {
      ASSERT_EQ(done[static_cast<std::size_t>(i)].wait(), absl::OkStatus());
      const float expected =
          static_cast<float>(size * i + size * (size - 1) / 2);
      for (float value : tensors[static_cast<std::size_t>(i)])
        ASSERT_EQ(value, expected);
    }
  }
}

// All ranks get the same error, which names two ranks and their values. The job
// goes on under the same name.
inline void mismatches_fail_everywhere_and_the_job_goes_on(Runtime& job) {
  const int rank = job.topology().rank();
  const int odd = job.topology().size() - 1;
  if (odd == 0) return;
  const bool is_odd = rank == odd;
  const std::string sent_by_odd = "rank " + std::to_string(odd) + " sent ";
  std::vector<float> floats(16, 1);
  std::vector<std::int32_t> ints(16, 1);
  const TensorView four = TensorView::of(floats.data(), {4});

  const auto expect = [&](const absl::Status& status, const std::string& first,
                          const std::string& other) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(text_of(status),
                ::testing::HasSubstr("'m': rank 0 sent " + first));
    EXPECT_THAT(text_of(status), ::testing::HasSubstr(sent_by_odd + other));
  };
  for (int round = 0; round < 2; ++round) {
    // The name has a cache id in the second round.
    expect(
        job.allreduce_async_(is_odd ? TensorView::of(floats.data(), {5}) : four,
                             {.name = "m"})
            .wait(),
        "float32[4]", "float32[5]");
    expect(
        job.allreduce_async_(is_odd ? TensorView::of(ints.data(), {4}) : four,
                             {.name = "m"})
            .wait(),
        "float32[4]", "int32[4]");
    expect(job.allreduce_async_(
                  four,
                  {.name = "m", .op = is_odd ? ReduceOp::kMax : ReduceOp::kSum})
               .wait(),
           "op sum", "op max");
    expect(job.allreduce_async_(
                  four, {.name = "m", .prescale_factor = is_odd ? 0.25 : 1})
               .wait(),
           "prescale 1", "prescale 0.25");
    expect(job.broadcast_async_(four, is_odd ? odd : 0, {.name = "m"}).wait(),
           "root 0", "root " + std::to_string(odd));
    expect((is_odd ? job.broadcast_async_(four, 0, {.name = "m"})
                   : job.allreduce_async_(four, {.name = "m"}))
               .wait(),
           "allreduce", "broadcast");
    EXPECT_EQ(job.allreduce_async_(four, {.name = "m"}).wait(),
              absl::OkStatus());
  }
}

// One rank has several calls of a name in flight, the others one at a time.
inline void calls_of_one_name_match_in_call_order(Runtime& job) {
  for (int round = 0; round < 3; ++round) {
    std::vector<float> values = {1, 10, 100};
    std::vector<Future<void>> calls;
    for (float& value : values) {
      calls.push_back(job.allreduce_async_(
          TensorView::of(&value, {}), {.name = "again", .op = ReduceOp::kSum}));
      if (job.topology().rank() != round) calls.back().wait().ignore_error();
    }
    for (const Future<void>& call : calls) {
      EXPECT_EQ(call.wait(), absl::OkStatus());
    }
    const auto size = static_cast<float>(job.topology().size());
    EXPECT_THAT(values, ::testing::ElementsAre(size, 10 * size, 100 * size));
  }
}

// The last of them is waited for first.
inline void a_wait_for_a_later_call_of_a_name_ends(Runtime& job) {
  for (int round = 0; round < 50; ++round) {
    float first = 1;
    float second = 2;
    const Future<void> before = job.allreduce_async_(
        TensorView::of(&first, {}), {.name = "again", .op = ReduceOp::kSum});
    const Future<void> after = job.allreduce_async_(
        TensorView::of(&second, {}), {.name = "again", .op = ReduceOp::kSum});
    ASSERT_EQ(after.wait(), absl::OkStatus());
    EXPECT_TRUE(before.poll());
    EXPECT_EQ(second, 2 * static_cast<float>(job.topology().size()));
  }
}

inline void unnamed_calls_match_in_call_order(Runtime& job) {
  for (int i = 0; i < 20; ++i) {
    float value = static_cast<float>(i);
    ASSERT_EQ(job.allreduce_async_(TensorView::of(&value, {1})).wait(),
              absl::OkStatus());
    EXPECT_EQ(value, static_cast<float>(i));
    ASSERT_EQ(job.barrier_async().wait(), absl::OkStatus());
  }
}

inline void arguments_without_meaning_are_refused(Runtime& job) {
  float value = 0;
  bool flag = true;
  const auto refused = [](const absl::Status& status) {
    return absl::IsInvalidArgument(status) && !status.message().empty();
  };
  EXPECT_TRUE(
      refused(job.allreduce_async_(TensorView(nullptr, DType::kF32, Shape({3})),
                                   {.name = "n"})
                  .wait()));
  EXPECT_TRUE(
      refused(job.allreduce_async_(TensorView(&value, DType::kF32, Shape({-1})),
                                   {.name = "n"})
                  .wait()));
  EXPECT_TRUE(refused(
      job.allreduce_async_(TensorView::of(&flag, {}), {.name = "b"}).wait()));
  EXPECT_TRUE(refused(job.broadcast_async_(TensorView::of(&value, {}),
                                           job.topology().size(), {.name = "r"})
                          .wait()));
  EXPECT_TRUE(refused(
      job.allgather_async(ConstTensorView::of(&value, {}), {.name = "s"})
          .wait()
          .status()));
  EXPECT_TRUE(absl::IsUnimplemented(
      job.allreduce_async_(
             TensorView(&value, DType::kF32, Shape({1}), Device::cuda(0)),
             {.name = "c"})
          .wait()));
}

inline void no_tensor_is_lost_over_many_steps(Runtime& job) {
  for (int step = 0; step < 200; ++step) {
    std::vector<float> a(3, static_cast<float>(step));
    std::vector<float> b(5000, static_cast<float>(job.topology().rank()));
    Future<void> first =
        job.allreduce_async_(TensorView::of(a.data(), {3}), {.name = "a"});
    Future<void> second = job.allreduce_async_(
        TensorView::of(b.data(), {5000}), {.name = "b", .op = ReduceOp::kMax});
    ASSERT_EQ(second.wait(), absl::OkStatus());
    ASSERT_EQ(first.wait(), absl::OkStatus());
    ASSERT_EQ(a[2], static_cast<float>(step));
    ASSERT_EQ(b[4999], static_cast<float>(job.topology().size() - 1));
  }
}

// With names that were negotiated long ago.
inline void the_request_of_a_name_may_change(Runtime& job) {
  const std::vector<int> ranks = first_ranks(size_of(job));
  for (int step = 0; step < 24; ++step) {
    const Reduction reduction{
        .dtype = step % 8 < 6 ? DType::kF32 : DType::kI64,
        .op = step % 6 < 4 ? ReduceOp::kSum : ReduceOp::kMax,
        .prescale = step % 12 < 8 ? 1.0 : 3.0};
    for (const char* name : {"a", "b"}) {
      const Buffer x = contribution(reduction, rank_of(job), {2 + step / 5});
      ASSERT_EQ(job.allreduce_async_(x.view(),
                                     {.name = name,
                                      .op = reduction.op,
                                      .prescale_factor = reduction.prescale})
                    .wait(),
                absl::OkStatus());
      expect_reduced(reduction, ranks, x);
    }
    // Another operation under a name that is free again.
    float value = static_cast<float>(rank_of(job));
    ASSERT_EQ((step % 4 == 3
                   ? job.broadcast_async_(TensorView::of(&value, {}), 0,
                                          {.name = "c"})
                   : job.allreduce_async_(TensorView::of(&value, {}),
                                          {.name = "c", .op = ReduceOp::kMin}))
                  .wait(),
              absl::OkStatus());
    EXPECT_EQ(value, 0.0f);
  }
}

// The program repeats one step, then changes. The fast path without negotiation
// must recover from every change.
inline void a_steady_program_may_change_at_any_step(Runtime& job) {
  const int size = size_of(job);
  const auto step = [&](int tensors) {
    std::vector<std::vector<float>> x;
    std::vector<Future<void>> done;
    for (int i = 0; i < tensors; ++i) {
      x.emplace_back(10, static_cast<float>(rank_of(job) + i));
      done.push_back(job.allreduce_async_(
          TensorView::of(x.back().data(), {10}),
          {.name = "t" + std::to_string(i), .op = ReduceOp::kSum}));
    }
    // Waits in reverse order: ranks need not wait in submission order.
    for (int i = tensors - 1; i >= 0; --i) {
      const auto index = static_cast<std::size_t>(i);
      ASSERT_EQ(done[index].wait(), absl::OkStatus());
      ASSERT_EQ(x[index][9],
                static_cast<float>(size * (size - 1) / 2 + size * i));
    }
    float parameter = static_cast<float>(rank_of(job));
    ASSERT_EQ(job.broadcast_async_(TensorView::of(&parameter, {}), size - 1,
                                   {.name = "parameter"})
                  .wait(),
              absl::OkStatus());
    ASSERT_EQ(parameter, static_cast<float>(size - 1));
    const std::vector<std::int32_t> rows(2, rank_of(job));
    ASSERT_EQ(job.allgather_async(ConstTensorView::of(rows.data(), {2}),
                                  {.name = "rows"})
                  .wait()
                  ->num_elements(),
              2 * size);
  };
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 12; ++i) step(5);
    if (round == 0) step(7);  // New names.
    if (round == 1) step(3);  // Some are missing.
    if (round == 2) {
      ASSERT_EQ(job.barrier_async().wait(), absl::OkStatus());
    }
    if (round == 3) {
      ASSERT_EQ(job.join_async().wait().status(), absl::OkStatus());
    }
  }
  for (int i = 0; i < 8; ++i) step(5);
}

// Several barriers in flight, and other calls between them.
inline void barriers_are_passed_in_the_order_of_their_calls(Runtime& job) {
  for (int round = 0; round < 12; ++round) {
    std::vector<Future<void>> barriers;
    std::vector<int> passed;
    for (int i = 0; i < 5; ++i) {
      barriers.push_back(job.barrier_async());
      barriers.back().then([&passed, i](const Status& status) {
        if (status.ok()) passed.push_back(i);
      });
    }
    float value = 1;
    ASSERT_EQ(job.allreduce_async_(TensorView::of(&value, {}),
                                   {.name = "between", .op = ReduceOp::kSum})
                  .wait(),
              absl::OkStatus());
    EXPECT_EQ(value, static_cast<float>(size_of(job)));
    // Waits in reverse: the last barrier began while no thread waited.
    for (auto barrier = barriers.rbegin(); barrier != barriers.rend();
         ++barrier) {
      ASSERT_EQ(barrier->wait(), absl::OkStatus());
    }
    ASSERT_EQ(job.barrier_async().wait(), absl::OkStatus());
    EXPECT_THAT(passed, ::testing::ElementsAre(0, 1, 2, 3, 4));
  }
}

inline void a_join_comes_behind_the_barriers_before_it(Runtime& job) {
  for (int round = 0; round < 3; ++round) {
    std::vector<Future<void>> barriers;
    for (int i = 0; i < 3; ++i) barriers.push_back(job.barrier_async());
    const Future<int> join = job.join_async();
    EXPECT_EQ(join.wait().status(), absl::OkStatus());
    for (const Future<void>& one : barriers) {
      EXPECT_EQ(one.wait(), absl::OkStatus());
    }
  }
}

inline constexpr Case kNameCases[] = {
    {"BarriersArePassedInTheOrderOfTheirCalls",
     barriers_are_passed_in_the_order_of_their_calls},
    {"AJoinComesBehindTheBarriersBeforeIt",
     a_join_comes_behind_the_barriers_before_it},
    {"CompletesAThousandTensorsInAnyOrder",
     completes_a_thousand_tensors_in_any_order},
    {"MismatchesFailEverywhereAndTheJobGoesOn",
     mismatches_fail_everywhere_and_the_job_goes_on},
    {"CallsOfOneNameMatchInCallOrder", calls_of_one_name_match_in_call_order},
    {"AWaitForALaterCallOfANameEnds", a_wait_for_a_later_call_of_a_name_ends},
    {"UnnamedCallsMatchInCallOrder", unnamed_calls_match_in_call_order},
    {"ArgumentsWithoutMeaningAreRefused",
     arguments_without_meaning_are_refused},
    {"NoTensorIsLostOverManySteps", no_tensor_is_lost_over_many_steps},
    {"TheRequestOfANameMayChange", the_request_of_a_name_may_change},
    {"ASteadyProgramMayChangeAtAnyStep",
     a_steady_program_may_change_at_any_step}};

}  // namespace hvd::suite
