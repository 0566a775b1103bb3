// SPDX-License-Identifier: Apache-2.0
// Values, layouts, versions, process sets, errors.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/core/error.h"
#include "test/distributed/suite_support.h"
#include "test/support/expect_error.h"

namespace hvd::suite {

inline void reductions_have_their_values() {
  const double n = size();
  const Tensor x = like_rank({2, 3});
  EXPECT_EQ(values(allreduce(x, {.op = ReduceOp::kSum})),
            repeated(6, sum_of_ranks()));
  EXPECT_EQ(values(allreduce(x, {.name = "x"})), repeated(6, (n - 1) / 2));
  EXPECT_EQ(values(allreduce(x, {.op = ReduceOp::kMax})), repeated(6, n - 1));
  EXPECT_EQ(values(allreduce(x, {.op = ReduceOp::kSum,
                                 .prescale_factor = 2,
                                 .postscale_factor = 0.25})),
            repeated(6, sum_of_ranks() / 2));
  EXPECT_EQ(allreduce(x).shape(), autograd::Dims({2, 3}));
  EXPECT_EQ(values(x), repeated(6, rank()));
  const Tensor number = full({}, 7, {.dtype = DType::kI64});
  EXPECT_EQ(allreduce(number, {.op = ReduceOp::kSum}).item<std::int64_t>(),
            7 * size());
  EXPECT_EQ(allreduce(zeros({0, 4})).shape(), autograd::Dims({0, 4}));
}

inline void any_layout_is_reduced_row_by_row() {
  const Tensor rows = rows_of(rank(), 3);
  const Tensor across = rows.t();
  const Tensor mean = rows_of(0, 3) + 50.0 * (size() - 1);
  EXPECT_EQ(values(allreduce(across)), values(mean.t()));
  EXPECT_EQ(values(allreduce(rows.slice(0, 0, 3, 2))),
            values(mean.slice(0, 0, 3, 2)));
  const Tensor one_each = like_rank({1}).expand({4});
  EXPECT_EQ(values(allreduce(one_each, {.op = ReduceOp::kSum})),
            repeated(4, sum_of_ranks()));
  // In place, the result keeps its layout.
  EXPECT_TRUE(allreduce_(across).is_same(across));
  EXPECT_FALSE(across.is_contiguous());
  EXPECT_EQ(values(rows), values(mean));
  const Tensor columns = rows_of(rank(), 3);
  throw_if_error(allreduce_async_(columns.select(1, 1)).wait());
  EXPECT_EQ(values(columns.select(1, 0)),
            values(rows_of(rank(), 3).select(1, 0)));
  EXPECT_EQ(values(columns.select(1, 1)), values(mean.select(1, 1)));
  const Tensor sent = rows_of(rank(), 3).t();
  broadcast_(sent, size() - 1);
  EXPECT_EQ(values(sent), values(rows_of(size() - 1, 3).t()));
}

inline void rows_are_gathered_scattered_and_exchanged() {
  const int n = size();
  Tensor all = rows_of(0, 1);
  for (int r = 1; r < n; ++r) all = cat({all, rows_of(r, r + 1)});
  EXPECT_EQ(values(allgather(rows_of(rank(), rank() + 1))), values(all));

  const Tensor sum =
      reducescatter(like_rank({n + 1, 2}), {.op = ReduceOp::kSum});
  EXPECT_EQ(sum.shape(), autograd::Dims({rank() == 0 ? 2 : 1, 2}));
  EXPECT_EQ(values(sum), repeated(sum.num_elements(), sum_of_ranks()));

  for (int root = 0; root < n; ++root) {
    EXPECT_EQ(values(broadcast(like_rank({3}), root)), repeated(3, root));
  }

  // Rank r sends r + 1 rows to each rank, and keeps one.
  const TensorAlltoallResult received =
      alltoall(like_rank({n * (rank() + 1) + 1, 2}),
               {.splits = std::vector<std::int64_t>(static_cast<std::size_t>(n),
                                                    rank() + 1)});
  Numbers expected;
  for (int r = 0; r < n; ++r) {
    EXPECT_EQ(received.received_splits[static_cast<std::size_t>(r)], r + 1);
    expected.insert(expected.end(), static_cast<std::size_t>(2 * (r + 1)), r);
  }
  EXPECT_EQ(values(received.tensor), expected);
}

inline void a_group_is_of_any_shapes_and_types() {
  const std::vector<Tensor> group = {
      like_rank({2}), full({3}, rank() + 1, {.dtype = DType::kI32}),
      rows_of(rank(), 2).t()};
  const auto sums =
      grouped_allreduce(group, {.name = "group", .op = ReduceOp::kSum});
  ASSERT_EQ(sums.size(), 3u);
  EXPECT_EQ(values(sums[0]), repeated(2, sum_of_ranks()));
  EXPECT_EQ(sums[1].to_vector<std::int32_t>(),
            std::vector<std::int32_t>(
                3, static_cast<std::int32_t>(sum_of_ranks()) + size()));
  EXPECT_EQ(sums[2].shape(), autograd::Dims({2, 2}));
  grouped_allreduce_(group, {.op = ReduceOp::kSum});
  for (std::size_t i = 0; i < group.size(); ++i) {
    EXPECT_EQ(values(to(group[i], DType::kF64)),
              values(to(sums[i], DType::kF64)));
    EXPECT_EQ(group[i].version(), 1u);
  }
  const auto gathered = grouped_allgather({group[0], like_rank({1, 2})});
  EXPECT_EQ(gathered[0].size(0), 2 * size());
  EXPECT_EQ(gathered[1].shape(), autograd::Dims({size(), 2}));
  const auto parts = grouped_reducescatter({like_rank({size()})});
  EXPECT_EQ(values(parts[0]), repeated(1, (size() - 1) / 2.0));
}

// Item 217.
inline void writes_in_place_count_as_such() {
  Tensor x = like_rank({2});
  allreduce_(x);
  EXPECT_EQ(x.version(), 1u);
  broadcast_(x, 0);
  EXPECT_EQ(x.version(), 2u);
  const Future<void> done = allreduce_async_(x);
  EXPECT_GE(x.version(), 3u);
  throw_if_error(done.wait());
  const std::uint32_t version = x.version();
  static_cast<void>(allreduce(x));
  EXPECT_EQ(x.version(), version);

  Tensor weight = like_rank({2}, true);
  EXPECT_ERROR(autograd::LeafInplaceError, "allreduce_: a leaf",
               allreduce_(weight));
  EXPECT_ERROR(autograd::LeafInplaceError, "broadcast_: a view of a leaf",
               static_cast<void>(broadcast_async_(weight.view({1, 2}), 0)));
  EXPECT_EQ(weight.version(), 0u);
  {
    const NoGrad no_grad;
    allreduce_(weight, {.op = ReduceOp::kSum});
  }
  EXPECT_EQ(values(weight.detach()), repeated(2, sum_of_ranks()));
  EXPECT_TRUE(weight.is_leaf());
  EXPECT_ERROR(InvalidArgument, "on one place",
               allreduce_(like_rank({1}).expand({3})));

  const Tensor y = exp(weight);
  broadcast_(y, 0);
  EXPECT_ERROR(autograd::VersionError, "inplace", y.sum().backward());
}

inline void a_process_set_is_served() {
  if (size() < 3) return;
  const StatusOr<ProcessSet> set = add_process_set({0, size() - 1});
  ASSERT_EQ(set.status(), absl::OkStatus());
  const Tensor x = like_rank({2}, true);
  if (process_set_included(*set)) {
    const Tensor sum = allreduce(
        x, {.name = "pair", .op = ReduceOp::kSum, .process_set = *set});
    EXPECT_EQ(values(sum.detach()), repeated(2, size() - 1));
    const Tensor part =
        reducescatter(sum, {.op = ReduceOp::kSum, .process_set = *set});
    const Tensor rows = allgather(part, {.process_set = *set});
    rows.sum().backward();
    // Both ranks' ones are averaged, times 2 ranks, summed over 2.
    EXPECT_EQ(values(x.grad()), repeated(2, 4));
  } else {
    const Status status = error_of([&] {
      static_cast<void>(allreduce(x, {.name = "pair", .process_set = *set}));
    });
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  }
}

// Item 218.
inline void a_tensor_lives_until_its_collective_has_ended() {
  double element = rank();
  std::atomic<bool> released = false;
  {
    const Tensor temporary =
        from_blob(&element, {1}, DType::kF64, [&](void*) { released = true; });
    if (rank() == 0)
      static_cast<void>(allreduce_async_(temporary, {.name = "t"}));
  }
  if (rank() == 0) {
    EXPECT_EQ(released, size() == 1 ? released.load() : false);
    // Other ranks begin after this rank has dropped its tensor.
    static_cast<void>(broadcast(zeros({1}), 0, {.name = "go"}));
  } else {
    static_cast<void>(broadcast(zeros({1}), 0, {.name = "go"}));
    static_cast<void>(allreduce_(constant({1.0 * rank()}, {1}), {.name = "t"}));
    released = true;
  }
  while (!released) std::this_thread::yield();
  if (rank() == 0) {
    EXPECT_EQ(element, (size() - 1) / 2.0);
  }
}

inline void a_refused_call_changes_no_tensor() {
  EXPECT_ERROR(InvalidArgument, "allreduce",
               static_cast<void>(allreduce(Tensor())));
  EXPECT_ERROR(Error, "scalar",
               static_cast<void>(allgather(full({}, 1.0), {.name = "s"})));
  EXPECT_ERROR(Error, "there is no rank",
               static_cast<void>(broadcast(zeros({1}), size())));
  if (size() == 1) return;
  // The ranks disagree: value, version and history stay unchanged.
  const Tensor x = leaf({1, 2, 3}, {3});
  const Tensor y = x * 2.0;
  const Tensor part = y.narrow(0, 0, rank() == 0 ? 3 : 2).clone();
  const auto history = part.grad_fn();
  const Status status = error_of([&] { allreduce_(part, {.name = "odd"}); });
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("float64[3]"));
  EXPECT_EQ(part.version(), 0u);
  EXPECT_TRUE(part.grad_fn() == history);
  const Future<Tensor> odd = allreduce_async(part, {.name = "odd"});
  EXPECT_EQ(odd.wait().status().code(), StatusCode::kInvalidArgument);
}

inline void futures_can_be_polled_waited_for_and_called_back() {
  Future<Tensor> sum =
      allreduce_async(like_rank({4}), {.name = "a", .op = ReduceOp::kSum});
  while (!poll(sum)) std::this_thread::yield();
  EXPECT_EQ(values(*synchronize(sum)), repeated(4, sum_of_ranks()));
  const Future<TensorAlltoallResult> rows =
      alltoall_async(like_rank({size()}), {.name = "b"});
  EXPECT_TRUE(rows.wait_for(1000));
  EXPECT_EQ(rows.wait()->received_splits,
            std::vector<std::int64_t>(static_cast<std::size_t>(size()), 1));
  std::atomic<bool> heard = false;
  allgather_async(like_rank({1}), {.name = "c"})
      .then([&, ranks = size()](const StatusOr<Tensor>& all) {
        EXPECT_EQ(all->size(0), ranks);
        heard = true;
      });
  while (!heard) std::this_thread::yield();
  const InferenceMode inference;
  EXPECT_TRUE(allreduce_async(zeros({2})).wait()->is_inference());
}

constexpr TensorCase kValueCases[] = {
    {"ReductionsHaveTheirValues", reductions_have_their_values},
    {"AnyLayoutIsReducedRowByRow", any_layout_is_reduced_row_by_row},
    {"RowsAreGatheredScatteredAndExchanged",
     rows_are_gathered_scattered_and_exchanged},
    {"AGroupIsOfAnyShapesAndTypes", a_group_is_of_any_shapes_and_types},
    {"WritesInPlaceCountAsSuch", writes_in_place_count_as_such},
    {"AProcessSetIsServed", a_process_set_is_served},
    {"ATensorLivesUntilItsCollectiveHasEnded",
     a_tensor_lives_until_its_collective_has_ended},
    {"ARefusedCallChangesNoTensor", a_refused_call_changes_no_tensor},
    {"FuturesCanBePolledWaitedForAndCalledBack",
     futures_can_be_polled_waited_for_and_called_back},
};

}  // namespace hvd::suite
