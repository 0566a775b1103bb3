// SPDX-License-Identifier: Apache-2.0
// Collectives that are prepared once and run often, and collectives that write
// into the caller's memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "test/runtime/suite_join.h"
#include "test/runtime/suite_support.h"

namespace hvd::suite {

// More steps than the ranks need to fix the order.
inline constexpr int kPreparedSteps = 12;

inline float sum_of_ranks(const Runtime& job, float of_rank_0) {
  const int size = size_of(job);
  return of_rank_0 * static_cast<float>(size) +
         static_cast<float>(size * (size - 1) / 2);
}

// Calls of every kind. In every third step some ranks make one call by its
// name.
inline void prepared_calls_are_calls_by_their_names(Runtime& job) {
  const int size = size_of(job);
  const float rank = static_cast<float>(rank_of(job));
  float in_place = 0;
  float input = 0;
  float output = 0;
  float group[2] = {};
  float from_last = 0;
  const TensorView value = TensorView::of(&in_place, {1});
  StatusOr<Prepared> prepared[] = {
      job.prepare_allreduce_(value, {.name = "p", .op = ReduceOp::kSum}),
      job.prepare_allreduce(ConstTensorView::of(&input, {1}),
                            TensorView::of(&output, {1}),
                            {.name = "q", .op = ReduceOp::kSum}),
      job.prepare_grouped_allreduce_(
          {TensorView::of(&group[0], {1}), TensorView::of(&group[1], {1})},
          {.name = "g", .op = ReduceOp::kSum}),
      job.prepare_broadcast_(TensorView::of(&from_last, {1}), size - 1,
                             {.name = "b"})};
  for (const auto& one : prepared) ASSERT_EQ(one.status(), absl::OkStatus());
  for (int step = 0; step < kPreparedSteps; ++step) {
    const float base = static_cast<float>(step);
    in_place = input = group[0] = base + rank;
    group[1] = 2 * base + rank;
    from_last = base + rank;
    const bool by_name = step % 3 == 2 && rank_of(job) % 2 == 0;
    Future<void> named;
    if (by_name) {
      named = job.allreduce_async_(value, {.name = "p", .op = ReduceOp::kSum});
    }
    for (auto& one : prepared) {
      if (by_name && &one == &prepared[0]) continue;
      one->start();
    }
    if (by_name) {
      ASSERT_EQ(named.wait(), absl::OkStatus());
    }
    for (auto& one : prepared) {
      if (by_name && &one == &prepared[0]) continue;
      ASSERT_EQ(one->wait(), absl::OkStatus());
      EXPECT_TRUE(one->poll());
    }
    ASSERT_EQ(in_place, sum_of_ranks(job, base));
    ASSERT_EQ(output, sum_of_ranks(job, base));
    ASSERT_EQ(input, base + rank);
    ASSERT_EQ(group[0], sum_of_ranks(job, base));
    ASSERT_EQ(group[1], sum_of_ranks(job, 2 * base));
    ASSERT_EQ(from_last, base + static_cast<float>(size - 1));
  }
}

// In different orders, and one call is not in every step.
inline void many_prepared_calls_run_step_by_step(Runtime& job) {
  constexpr int kTensors = 60;
  std::vector<std::vector<float>> tensors(kTensors);
  std::vector<Prepared> prepared;
  for (int i = 0; i < kTensors; ++i) {
    auto& tensor = tensors[static_cast<std::size_t>(i)];
    tensor.resize(static_cast<std::size_t>(1 + 5 * i));
    auto one = job.prepare_allreduce_(
        TensorView::of(tensor.data(), {1 + 5 * i}),
        {.name = "m" + std::to_string(i), .op = ReduceOp::kSum});
    ASSERT_EQ(one.status(), absl::OkStatus());
    prepared.push_back(*std::move(one));
  }
  float metric = 0;
  auto extra =
      job.prepare_allreduce_(TensorView::of(&metric, {1}), {.name = "metric"});
  ASSERT_EQ(extra.status(), absl::OkStatus());
  for (int step = 0; step < kPreparedSteps; ++step) {
    for (int i = 0; i < kTensors; ++i) {
      const int which = (i * 7 + rank_of(job) * step) % kTensors;
      auto& tensor = tensors[static_cast<std::size_t>(which)];
      std::fill(tensor.begin(), tensor.end(),
                static_cast<float>(step + which + rank_of(job)));
      prepared[static_cast<std::size_t>(which)].start();
    }
    if (step % 5 == 4) {
      ASSERT_EQ(extra->run(), absl::OkStatus());
    }
    for (int i = 0; i < kTensors; ++i) {
      const auto index = static_cast<std::size_t>(i);
      ASSERT_EQ(prepared[index].wait(), absl::OkStatus());
      const float expected = sum_of_ranks(job, static_cast<float>(step + i));
      ASSERT_EQ(tensors[index].front(), expected);
      ASSERT_EQ(tensors[index].back(), expected);
    }
  }
}

inline void a_prepared_call_fails_as_any_other(Runtime& job) {
  float value = 1;
  const TensorView view = TensorView::of(&value, {1});
  EXPECT_TRUE(is_refused(job.prepare_allreduce_(view, {}).status()));
  EXPECT_TRUE(is_refused(
      job.prepare_broadcast_(view, size_of(job), {.name = "x"}).status()));
  EXPECT_TRUE(is_refused(
      job.prepare_allreduce(view, TensorView::of(&value, {1, 1}), {.name = "x"})
          .status()));
  Prepared none;
  none.start();
  EXPECT_TRUE(absl::IsFailedPrecondition(none.wait()));
  auto some = job.prepare_allreduce_(view, {.name = "some"});
  ASSERT_EQ(some.status(), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(some->wait()));
  // The ranks disagree, then agree.
  std::vector<float> longer(2);
  const bool is_odd = rank_of(job) == size_of(job) - 1 && size_of(job) > 1;
  auto odd = job.prepare_allreduce_(
      is_odd ? TensorView::of(longer.data(), {2}) : view, {.name = "odd"});
  ASSERT_EQ(odd.status(), absl::OkStatus());
  EXPECT_EQ(odd->run().ok(), size_of(job) == 1);
  ASSERT_EQ(some->run(), absl::OkStatus());
  // Destroying a call in flight waits for its end.
  some->start();
  *some = Prepared();
  ASSERT_EQ(job.allreduce_async_(view, {.name = "some"}).wait(),
            absl::OkStatus());
}

inline void results_go_into_the_callers_memory(Runtime& job) {
  const int rank = rank_of(job);
  const int size = size_of(job);
  // Rank r has r + 1 rows.
  const std::vector<std::int32_t> rows(static_cast<std::size_t>(rank + 1),
                                       rank);
  const ConstTensorView mine = ConstTensorView::of(rows.data(), {rank + 1});
  const std::int64_t total = size * (size + 1) / 2;
  std::vector<std::int32_t> all(static_cast<std::size_t>(total), -1);
  const TensorView result = TensorView::of(all.data(), {total});
  auto prepared = job.prepare_allgather(mine, result, {.name = "rows"});
  ASSERT_EQ(prepared.status(), absl::OkStatus());
  for (int step = 0; step < kPreparedSteps; ++step) {
    std::fill(all.begin(), all.end(), -1);
    const Status status =
        step % 2 == 0
            ? prepared->run()
            : job.allgather_into_async(mine, result, {.name = "rows"}).wait();
    ASSERT_EQ(status, absl::OkStatus());
    std::size_t at = 0;
    for (int r = 0; r < size; ++r) {
      for (int i = 0; i <= r; ++i) ASSERT_EQ(all[at++], r);
    }
  }

  std::vector<std::int32_t> sent(static_cast<std::size_t>(size), rank);
  std::vector<std::int32_t> received(static_cast<std::size_t>(size), -1);
  const auto splits =
      job.alltoall_into_async(ConstTensorView::of(sent.data(), {size}),
                              TensorView::of(received.data(), {size}),
                              {.name = "exchange"})
          .wait();
  ASSERT_EQ(splits.status(), absl::OkStatus());
  EXPECT_EQ(*splits,
            std::vector<std::int64_t>(static_cast<std::size_t>(size), 1));
  for (int r = 0; r < size; ++r) {
    EXPECT_EQ(received[static_cast<std::size_t>(r)], r);
  }
  auto exchange = job.prepare_alltoall(ConstTensorView::of(sent.data(), {size}),
                                       TensorView::of(received.data(), {size}),
                                       {.name = "exchange"});
  ASSERT_EQ(exchange.status(), absl::OkStatus());
  ASSERT_EQ(exchange->run(), absl::OkStatus());

  const std::vector<float> whole(static_cast<std::size_t>(2 * size), 1);
  std::vector<float> part(2, -1);
  auto scatter = job.prepare_reducescatter(
      ConstTensorView::of(whole.data(), {2 * size}),
      TensorView::of(part.data(), {2}), {.name = "s", .op = ReduceOp::kSum});
  ASSERT_EQ(scatter.status(), absl::OkStatus());
  for (int step = 0; step < kPreparedSteps; ++step) {
    ASSERT_EQ(scatter->run(), absl::OkStatus());
    ASSERT_EQ(part[1], static_cast<float>(size));
  }
}

// If one rank's result does not fit its memory, only that rank gets an error.
inline void a_result_that_does_not_fit_is_that_ranks_error(Runtime& job) {
  const int size = size_of(job);
  const bool is_wrong = rank_of(job) == size - 1;
  const float mine = static_cast<float>(rank_of(job));
  std::vector<float> all(static_cast<std::size_t>(size + 1), -1);
  const std::int64_t rows = is_wrong ? size + 1 : size;
  const Status status =
      job.allgather_into_async(ConstTensorView::of(&mine, {1}),
                               TensorView::of(all.data(), {rows}),
                               {.name = "fit"})
          .wait();
  if (is_wrong) {
    EXPECT_TRUE(is_refused(status)) << status;
    EXPECT_EQ(all[0], -1);
  } else {
    EXPECT_EQ(status, absl::OkStatus());
    EXPECT_EQ(all[0], 0);
  }
  std::int32_t other = 0;
  EXPECT_TRUE(is_refused(
      job.allgather_into_async(ConstTensorView::of(&mine, {1}),
                               TensorView::of(&other, {1}), {.name = "fit"})
          .wait()));
  float part = 0;
  const std::vector<float> whole(static_cast<std::size_t>(3 * size));
  EXPECT_TRUE(is_refused(job.reducescatter_into_async(
                                ConstTensorView::of(whole.data(), {3 * size}),
                                TensorView::of(&part, {1}), {.name = "fit"})
                             .wait()));
}

inline void prepared_calls_run_in_their_process_sets(Runtime& job) {
  for (const ProcessSet& set : every_set(job)) {
    if (!is_in(job, set)) continue;
    float one = 0;
    auto count = job.prepare_allreduce_(
        TensorView::of(&one, {1}),
        {.name = "members", .op = ReduceOp::kSum, .process_set = set});
    ASSERT_EQ(count.status(), absl::OkStatus());
    for (int step = 0; step < kPreparedSteps; ++step) {
      one = 1;
      ASSERT_EQ(count->run(), absl::OkStatus());
      ASSERT_EQ(one, static_cast<float>(members_of(job, set).size()));
    }
  }
}

// Before and after all ranks have joined, too.
inline void prepared_calls_go_on_without_ranks_that_joined(Runtime& job) {
  float one = 0;
  auto count = job.prepare_allreduce_(TensorView::of(&one, {1}),
                                      {.name = "live", .op = ReduceOp::kSum});
  ASSERT_EQ(count.status(), absl::OkStatus());
  const auto expect_count = [&](std::size_t ranks) {
    one = 1;
    ASSERT_EQ(count->run(), absl::OkStatus());
    ASSERT_EQ(one, static_cast<float>(ranks));
  };
  const auto all = static_cast<std::size_t>(size_of(job));
  for (int step = 0; step < kPreparedSteps; ++step) expect_count(all);
  train_unevenly(
      job, ProcessSet::global(),
      [&](int, const std::vector<int>& live) { expect_count(live.size()); });
  for (int step = 0; step < kPreparedSteps; ++step) expect_count(all);
}

// As with unprepared calls, all ranks get the error, and the job goes on.
inline void prepared_calls_that_differ_are_refused_each_time(Runtime& job) {
  if (size_of(job) == 1) return;
  float value = 1;
  const TensorView view = TensorView::of(&value, {1});
  auto odd = job.prepare_allreduce_(
      view, {.name = "odd",
             .op = rank_of(job) == 0 ? ReduceOp::kMax : ReduceOp::kMin});
  auto even = job.prepare_allreduce_(view, {.name = "even"});
  ASSERT_EQ(odd.status(), absl::OkStatus());
  ASSERT_EQ(even.status(), absl::OkStatus());
  for (int step = 0; step < kPreparedSteps; ++step) {
    ASSERT_EQ(even->run(), absl::OkStatus());
    if (step % 4 != 0) continue;
    ASSERT_TRUE(is_refused(odd->run()));
    ASSERT_TRUE(is_refused(odd->wait()));
  }
}

// Each call is waited for at once, early or late, so that some calls find their
// peers ready and others do not.
inline void calls_that_are_waited_for_at_once_mix_with_others(Runtime& job) {
  constexpr int kSteps = 300;
  float prepared = 0;
  float group[2] = {};
  float named = 0;
  float other = 0;
  auto one = job.prepare_allreduce_(TensorView::of(&prepared, {1}),
                                    {.name = "one", .op = ReduceOp::kSum});
  auto two = job.prepare_grouped_allreduce_(
      {TensorView::of(&group[0], {1}), TensorView::of(&group[1], {1})},
      {.name = "two", .op = ReduceOp::kSum});
  ASSERT_EQ(one.status(), absl::OkStatus());
  ASSERT_EQ(two.status(), absl::OkStatus());
  const float rank = static_cast<float>(rank_of(job));
  for (int step = 0; step < kSteps; ++step) {
    const float base = static_cast<float>(step);
    prepared = named = group[1] = base + rank;
    group[0] = rank;
    std::atomic<int> looks{(step * 7 + rank_of(job) * 13) % 40 * 20};
    while (looks.load() > 0) --looks;
    ASSERT_EQ(one->run(), absl::OkStatus());
    ASSERT_EQ(job.allreduce_(TensorView::of(&named, {1}),
                             {.name = "named", .op = ReduceOp::kSum}),
              absl::OkStatus());
    ASSERT_EQ(job.barrier(), absl::OkStatus());
    ASSERT_EQ(two->run(), absl::OkStatus());
    if (step % 50 == 49) {
      other = rank;
      const auto done = job.allreduce_async_(
          TensorView::of(&other, {1}), {.name = "other", .op = ReduceOp::kSum});
      one->start();
      ASSERT_EQ(done.wait(), absl::OkStatus());
      ASSERT_EQ(one->wait(), absl::OkStatus());
      ASSERT_EQ(other, sum_of_ranks(job, 0));
      continue;
    }
    ASSERT_EQ(prepared, sum_of_ranks(job, base));
    ASSERT_EQ(named, sum_of_ranks(job, base));
    ASSERT_EQ(group[0], sum_of_ranks(job, 0));
    ASSERT_EQ(group[1], sum_of_ranks(job, base));
  }
}

inline constexpr Case kPreparedCases[] = {
    {"CallsThatAreWaitedForAtOnceMixWithOthers",
     calls_that_are_waited_for_at_once_mix_with_others},
    {"PreparedCallsAreCallsByTheirNames",
     prepared_calls_are_calls_by_their_names},
    {"ManyPreparedCallsRunStepByStep", many_prepared_calls_run_step_by_step},
    {"PreparedCallsRunInTheirProcessSets",
     prepared_calls_run_in_their_process_sets},
    {"PreparedCallsGoOnWithoutRanksThatJoined",
     prepared_calls_go_on_without_ranks_that_joined},
    {"PreparedCallsThatDifferAreRefusedEachTime",
     prepared_calls_that_differ_are_refused_each_time},
    {"APreparedCallFailsAsAnyOther", a_prepared_call_fails_as_any_other},
    {"ResultsGoIntoTheCallersMemory", results_go_into_the_callers_memory},
    {"AResultThatDoesNotFitIsThatRanksError",
     a_result_that_does_not_fit_is_that_ranks_error}};

}  // namespace hvd::suite
