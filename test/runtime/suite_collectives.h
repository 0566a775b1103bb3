// SPDX-License-Identifier: Apache-2.0
// Every collective, with every dtype and op, in every process set.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "horovodpp/core/thread/promise.h"
#include "horovodpp/runtime/execution/reductions.h"
#include "test/runtime/suite_support.h"

namespace hvd::suite {

inline void reduces_in_place_and_out_of_place(Runtime& job) {
  const int rank = rank_of(job);
  const int size = size_of(job);
  std::vector<float> x(1000);
  std::iota(x.begin(), x.end(), static_cast<float>(rank));
  const ConstTensorView view = ConstTensorView::of(x.data(), {10, 100});
  const auto sum =
      job.allreduce_async(view, {.name = "x", .op = ReduceOp::kSum}).wait();
  ASSERT_EQ(sum.status(), absl::OkStatus());
  EXPECT_EQ(sum->shape(), Shape({10, 100}));
  const float ranks = static_cast<float>(size * (size - 1) / 2);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(sum->data<float>()[i],
              static_cast<float>(size) * static_cast<float>(i) + ranks);
  }
  EXPECT_EQ(x[1], static_cast<float>(rank + 1));

  ASSERT_EQ(job.allreduce_async_(TensorView::of(x.data(), {1000}),
                                 {.name = "x in place",
                                  .prescale_factor = 2,
                                  .postscale_factor = 0.5})
                .wait(),
            absl::OkStatus());
  EXPECT_FLOAT_EQ(x[10], 10.0f + ranks / static_cast<float>(size));
}

// All are in flight at once, so that fusion happens wherever possible.
inline void reduces_every_dtype_by_every_op(Runtime& job) {
  struct Pending {
    Reduction reduction;
    Future<Buffer> result;
  };
  for (const ProcessSet& set : every_set(job)) {
    if (!is_in(job, set)) continue;
    std::vector<Pending> pending;
    for (const DType dtype : kAllDTypes) {
      for (const ReduceOp op : collective::kAllOps) {
        const Reduction reduction{.dtype = dtype, .op = op};
        if (!makes_sense(reduction)) continue;
        // The borrowed input is reduced in place, in memory that stays alive.
        const Buffer mine = contribution(reduction, rank_of(job), {13});
        Promise<Buffer> promise;
        job.allreduce_async_(
               mine.view(),
               {.name = describe(reduction), .op = op, .process_set = set})
            .then([promise, mine](const absl::Status& status) {
              promise.set(status.ok() ? absl::StatusOr<Buffer>(mine) : status);
            });
        pending.push_back({reduction, promise.future()});
      }
    }
    for (const Pending& p : pending) {
      const auto result = p.result.wait();
      ASSERT_EQ(result.status(), absl::OkStatus());
      expect_reduced(p.reduction, members_of(job, set), *result);
    }
  }
}

inline void scatters_every_dtype_by_every_op(Runtime& job) {
  for (const ProcessSet& set : every_set(job)) {
    if (!is_in(job, set)) continue;
    const std::vector<int> ranks = members_of(job, set);
    const auto position = static_cast<std::size_t>(*job.rank_in(set));
    // Fewer rows than ranks, equal counts, and one more row for some ranks.
    for (const std::int64_t rows : {1, 4, 7}) {
      std::int64_t first = 0;
      for (std::size_t r = 0; r < position; ++r) {
        first += 3 * runtime::scattered_rows(rows, ranks.size(), r);
      }
      for (const DType dtype : kAllDTypes) {
        for (const ReduceOp op : collective::kAllOps) {
          const Reduction reduction{.dtype = dtype, .op = op};
          if (!makes_sense(reduction)) continue;
          const Buffer mine = contribution(reduction, rank_of(job), {rows, 3});
          const auto part =
              job.reducescatter_async(
                     mine.view(), {.name = "x", .op = op, .process_set = set})
                  .wait();
          ASSERT_EQ(part.status(), absl::OkStatus());
          EXPECT_EQ(
              part->shape(),
              Shape(
                  {runtime::scattered_rows(rows, ranks.size(), position), 3}));
          expect_reduced(reduction, ranks, *part, first);
        }
      }
    }
  }
}

inline void scales_before_and_after(Runtime& job) {
  for (const DType dtype : kAllDTypes) {
    const Reduction reduction{
        .dtype = dtype, .op = ReduceOp::kSum, .prescale = 2, .postscale = 0.5};
    const Buffer mine = contribution(reduction, rank_of(job), {9});
    const auto result =
        job.allreduce_async(mine.view(), {.name = "x",
                                          .op = reduction.op,
                                          .prescale_factor = 2,
                                          .postscale_factor = 0.5})
            .wait();
    EXPECT_EQ(result.ok(), makes_sense(reduction)) << result.status();
    if (!result.ok()) continue;
    expect_reduced(reduction, first_ranks(size_of(job)), *result);
    const auto part =
        job.reducescatter_async(mine.view(), {.name = "y",
                                              .op = ReduceOp::kSum,
                                              .prescale_factor = 2,
                                              .postscale_factor = 0.5})
            .wait();
    ASSERT_EQ(part.status(), absl::OkStatus());
    std::int64_t first = 0;
    const auto ranks = static_cast<std::size_t>(size_of(job));
    for (std::size_t r = 0; r < static_cast<std::size_t>(rank_of(job)); ++r) {
      first += runtime::scattered_rows(9, ranks, r);
    }
    expect_reduced(reduction, first_ranks(size_of(job)), *part, first);
  }
}

inline void gathers_uneven_rows_of_every_dtype(Runtime& job) {
  for (const ProcessSet& set : every_set(job)) {
    if (!is_in(job, set)) continue;
    for (std::size_t step = 0; step < std::size(kAllDTypes); ++step) {
      const Reduction kind{.dtype = kAllDTypes[step]};
      const auto rows = [&](int rank) {
        return (rank + static_cast<int>(step)) % 3;  // Some have no rows.
      };
      const Buffer mine =
          contribution(kind, rank_of(job), {rows(rank_of(job)), 2});
      const auto all =
          job.allgather_async(mine.view(),
                              {.name = name_of(kind.dtype), .process_set = set})
              .wait();
      ASSERT_EQ(all.status(), absl::OkStatus());
      std::vector<double> expected;
      for (const int rank : members_of(job, set)) {
        for (const double number :
             numbers_in(contribution(kind, rank, {rows(rank), 2}))) {
          expected.push_back(number);
        }
      }
      EXPECT_EQ(all->shape()[1], 2);
      EXPECT_EQ(numbers_in(*all), expected);
    }
  }
}

inline void gathers_rows_that_change_from_call_to_call(Runtime& job) {
  for (int step = 0; step < 20; ++step) {
    const std::vector<std::int64_t> mine(
        static_cast<std::size_t>((step + rank_of(job)) % 4), rank_of(job));
    const auto all =
        job.allgather_async(
               ConstTensorView::of(mine.data(),
                                   {static_cast<std::int64_t>(mine.size())}),
               {.name = "rows"})
            .wait();
    ASSERT_EQ(all.status(), absl::OkStatus());
    std::vector<double> expected;
    for (int rank = 0; rank < size_of(job); ++rank) {
      expected.insert(expected.end(),
                      static_cast<std::size_t>((step + rank) % 4), rank);
    }
    EXPECT_EQ(numbers_in(*all), expected);
  }
}

inline void broadcasts_from_every_root(Runtime& job) {
  for (const ProcessSet& set : every_set(job)) {
    if (!is_in(job, set)) continue;
    for (const int root : members_of(job, set)) {
      for (const DType dtype : kAllDTypes) {
        const Reduction kind{.dtype = dtype};
        const Buffer expected = contribution(kind, root, {5});
        const Buffer mine = contribution(kind, rank_of(job), {5});
        const BroadcastOptions options{.name = name_of(dtype),
                                       .process_set = set};
        const auto copy =
            job.broadcast_async(mine.view(), root, options).wait();
        ASSERT_EQ(copy.status(), absl::OkStatus());
        EXPECT_EQ(numbers_in(*copy), numbers_in(expected));
        EXPECT_EQ(numbers_in(mine),
                  numbers_in(contribution(kind, rank_of(job), {5})));
        ASSERT_EQ(job.broadcast_async_(mine.view(), root, options).wait(),
                  absl::OkStatus());
        EXPECT_EQ(numbers_in(mine), numbers_in(expected));
      }
    }
  }
}

// Rank r sends rank p the number 100 r + p, in `rows(r, p)` rows.
template <typename Rows>
void exchange_rows(Runtime& job, const ProcessSet& set, Rows rows) {
  const std::vector<int> ranks = members_of(job, set);
  const int me = rank_of(job);
  std::vector<std::int32_t> mine;
  std::vector<std::int64_t> splits;
  for (const int peer : ranks) {
    splits.push_back(rows(me, peer));
    mine.insert(mine.end(), static_cast<std::size_t>(2 * rows(me, peer)),
                100 * me + peer);
  }
  const auto sent = static_cast<std::int64_t>(mine.size() / 2);
  mine.resize(mine.size() + 4, -1);  // Two rows for no rank.
  const auto result =
      job.alltoall_async(ConstTensorView::of(mine.data(), {sent + 2, 2}),
                         {.name = "x", .splits = splits, .process_set = set})
          .wait();
  ASSERT_EQ(result.status(), absl::OkStatus());
  std::vector<double> expected;
  std::vector<std::int64_t> received;
  for (const int peer : ranks) {
    received.push_back(rows(peer, me));
    expected.insert(expected.end(),
                    static_cast<std::size_t>(2 * rows(peer, me)),
                    100 * peer + me);
  }
  EXPECT_EQ(result->received_splits, received);
  EXPECT_EQ(numbers_in(result->tensor), expected);
  EXPECT_EQ(result->tensor.shape()[1], 2);
}

inline void exchanges_uneven_rows(Runtime& job) {
  for (const ProcessSet& set : every_set(job)) {
    if (!is_in(job, set)) continue;
    for (int step = 0; step < 4; ++step) {
      exchange_rows(job, set, [step](int from, int to) {
        return (2 * from + to + step) % 4;  // Some pairs exchange no rows.
      });
    }
    exchange_rows(job, set, [](int, int) { return 0; });
  }
}

inline void exchanges_equal_rows_of_every_dtype(Runtime& job) {
  for (const ProcessSet& set : every_set(job)) {
    if (!is_in(job, set)) continue;
    const std::vector<int> ranks = members_of(job, set);
    const auto n = static_cast<std::int64_t>(ranks.size());
    for (const DType dtype : kAllDTypes) {
      const Reduction kind{.dtype = dtype};
      const Buffer mine = contribution(kind, rank_of(job), {2 * n, 3});
      const auto result =
          job.alltoall_async(mine.view(), {.name = "x", .process_set = set})
              .wait();
      ASSERT_EQ(result.status(), absl::OkStatus());
      EXPECT_EQ(result->tensor.shape(), Shape({2 * n, 3}));
      EXPECT_EQ(result->received_splits,
                std::vector<std::int64_t>(ranks.size(), 2));
      std::vector<double> expected;
      for (const int rank : ranks) {
        const auto all = numbers_in(contribution(kind, rank, {2 * n, 3}));
        const auto from = all.begin() + 6 * *job.rank_in(set);
        expected.insert(expected.end(), from, from + 6);
      }
      EXPECT_EQ(numbers_in(result->tensor), expected);
    }
  }
}

inline void empty_tensors_are_tensors(Runtime& job) {
  const auto n = static_cast<std::int64_t>(size_of(job));
  const ConstTensorView none(nullptr, DType::kF32, Shape({0, 4}));
  EXPECT_EQ(job.allreduce_async(none, {.name = "a"}).wait()->shape(),
            Shape({0, 4}));
  EXPECT_EQ(job.allgather_async(none, {.name = "b"}).wait()->shape(),
            Shape({0, 4}));
  EXPECT_EQ(job.broadcast_async(none, 0, {.name = "c"}).wait()->shape(),
            Shape({0, 4}));
  EXPECT_EQ(job.reducescatter_async(none, {.name = "d"}).wait()->shape(),
            Shape({0, 4}));
  EXPECT_EQ(job.alltoall_async(none, {.name = "e"}).wait()->tensor.shape(),
            Shape({0, 4}));
  const ConstTensorView thin(nullptr, DType::kF32, Shape({n, 0}));
  EXPECT_EQ(job.allgather_async(thin, {.name = "f"}).wait()->shape(),
            Shape({n * n, 0}));
  EXPECT_EQ(job.reducescatter_async(thin, {.name = "g"}).wait()->shape(),
            Shape({1, 0}));
  EXPECT_EQ(job.alltoall_async(thin, {.name = "h"}).wait()->tensor.shape(),
            Shape({n, 0}));
}

// Larger than any staging memory, with an odd number of rows.
inline void large_tensors_arrive_whole(Runtime& job) {
  constexpr std::int64_t kRows = 100'003;
  const Reduction reduction{.dtype = DType::kF32, .op = ReduceOp::kSum};
  const Buffer mine = contribution(reduction, rank_of(job), {kRows, 7});
  const std::vector<int> ranks = first_ranks(size_of(job));
  const auto sum =
      job.allreduce_async(mine.view(), {.name = "a", .op = reduction.op})
          .wait();
  ASSERT_EQ(sum.status(), absl::OkStatus());
  expect_reduced(reduction, ranks, *sum);
  const auto part =
      job.reducescatter_async(mine.view(), {.name = "b", .op = reduction.op})
          .wait();
  ASSERT_EQ(part.status(), absl::OkStatus());
  std::int64_t first = 0;
  for (int r = 0; r < rank_of(job); ++r) {
    first += 7 * runtime::scattered_rows(kRows, ranks.size(),
                                         static_cast<std::size_t>(r));
  }
  expect_reduced(reduction, ranks, *part, first);
  const auto all = job.allgather_async(mine.view(), {.name = "c"}).wait();
  ASSERT_EQ(all.status(), absl::OkStatus());
  EXPECT_EQ(all->shape()[0], kRows * size_of(job));
  const std::int64_t last = all->num_elements() - 1;
  EXPECT_EQ(collective::get(DType::kF32, all->view().data(), last),
            collective::small_value(DType::kF32, ReduceOp::kSum,
                                    size_of(job) - 1, kRows * 7 - 1));
}

inline void the_average_of_integers_is_exact(Runtime& job) {
  const int size = size_of(job);
  // The sums overflow the type in both directions.
  std::vector<std::int32_t> x = {2'000'000'000, -2'000'000'000, 7, -7,
                                 rank_of(job)};
  ASSERT_EQ(
      job.allreduce_async_(TensorView::of(x.data(), {5}), {.name = "x"}).wait(),
      absl::OkStatus());
  EXPECT_THAT(x, ::testing::ElementsAre(2'000'000'000, -2'000'000'000, 7, -7,
                                        (size - 1) / 2));
}

inline constexpr Case kCollectiveCases[] = {
    {"ReducesInPlaceAndOutOfPlace", reduces_in_place_and_out_of_place},
    {"ReducesEveryDtypeByEveryOp", reduces_every_dtype_by_every_op},
    {"ScattersEveryDtypeByEveryOp", scatters_every_dtype_by_every_op},
    {"ScalesBeforeAndAfter", scales_before_and_after},
    {"GathersUnevenRowsOfEveryDtype", gathers_uneven_rows_of_every_dtype},
    {"GathersRowsThatChangeFromCallToCall",
     gathers_rows_that_change_from_call_to_call},
    {"BroadcastsFromEveryRoot", broadcasts_from_every_root},
    {"ExchangesUnevenRows", exchanges_uneven_rows},
    {"ExchangesEqualRowsOfEveryDtype", exchanges_equal_rows_of_every_dtype},
    {"EmptyTensorsAreTensors", empty_tensors_are_tensors},
    {"LargeTensorsArriveWhole", large_tensors_arrive_whole},
    {"TheAverageOfIntegersIsExact", the_average_of_integers_is_exact}};

}  // namespace hvd::suite
