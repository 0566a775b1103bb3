// SPDX-License-Identifier: Apache-2.0
// Horovod's gradients, of every form of every collective. Items 216, 217.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "test/distributed/suite_support.h"

namespace hvd::suite {

// A gradient that differs by rank and row: 10 times the rank, plus the row.
inline Tensor gradient_for(const Tensor& y, int rank_of = rank()) {
  Numbers numbers;
  const std::int64_t columns =
      y.num_elements() / std::max<std::int64_t>(1, y.size(0));
  for (std::int64_t i = 0; i < y.num_elements(); ++i) {
    numbers.push_back(10.0 * rank_of + static_cast<double>(i / columns));
  }
  return from_vector<double>(numbers, y.shape());
}

// The mean over the ranks of their gradients for a result like `y`.
inline Tensor mean_gradient_for(const Tensor& y) {
  return gradient_for(y, 0) + 10.0 * (size() - 1) / 2.0;
}

inline void an_allreduce_reduces_the_gradients() {
  const double n = size();
  struct Options {
    AllreduceOptions options;
    double factor;  // Times the mean.
  };
  for (const auto& [options, factor] :
       {Options{{.name = "mean"}, 1}, Options{{.op = ReduceOp::kSum}, n},
        Options{{.op = ReduceOp::kSum, .prescale_factor = 3}, 3 * n},
        Options{{.name = "both", .prescale_factor = 3, .postscale_factor = 0.5},
                1.5}}) {
    Tensor x = rows_of(rank(), 2, true);
    const Tensor y = allreduce(x, options);
    EXPECT_STREQ(y.grad_fn()->name(), "AllreduceBackward");
    y.backward(gradient_for(y));
    const Numbers expected = values(mean_gradient_for(y) * factor);
    EXPECT_EQ(values(x.grad()), expected);
    // In place, with and without waiting.
    x.set_grad({});
    Tensor z = x * 1.0;
    allreduce_(z, options).backward(gradient_for(y));
    EXPECT_EQ(values(x.grad()), expected);
    x.set_grad({});
    z = x * 1.0;
    throw_if_error(allreduce_async_(z, options).wait());
    z.backward(gradient_for(y));
    EXPECT_EQ(values(x.grad()), expected);
    x.set_grad({});
    const Tensor later = value_or_throw(allreduce_async(x, options).wait());
    later.backward(gradient_for(y));
    EXPECT_EQ(values(x.grad()), expected);
  }
}

inline void a_write_through_a_view_passes_reduced_gradients() {
  const Tensor x = rows_of(rank(), 3, true);
  const Tensor y = x * 2.0;
  allreduce_(y.select(1, 0), {.op = ReduceOp::kSum});
  y.backward(ones64({3, 2}));
  const double n = size();
  EXPECT_EQ(values(x.grad()), (Numbers{2 * n, 2, 2 * n, 2, 2 * n, 2}));
}

inline void a_group_has_the_gradients_of_its_tensors() {
  const Tensor a = rows_of(rank(), 2, true);
  const Tensor b = like_rank({3}, true);
  const Tensor constant = like_rank({1});
  const auto sums = grouped_allreduce({a, constant, b},
                                      {.name = "group", .op = ReduceOp::kSum});
  EXPECT_TRUE(sums[2].requires_grad());
  // Only rank 0 uses b.
  (rank() == 0 ? sums[0].sum() + sums[2].sum() : sums[0].sum()).backward();
  EXPECT_EQ(values(a.grad()), repeated(4, size()));
  EXPECT_EQ(values(b.grad()), repeated(3, 1));
  a.set_grad({});
  b.set_grad({});
  const Tensor c = a * 1.0;
  const Tensor d = b * 1.0;
  grouped_allreduce_({c, d}, {.name = "group", .op = ReduceOp::kSum});
  (c.sum() + d.sum()).backward();
  EXPECT_EQ(values(a.grad()), repeated(4, size()));
  EXPECT_EQ(values(b.grad()), repeated(3, size()));
}

inline void an_allgather_returns_each_rank_its_rows() {
  const Tensor x = rows_of(rank(), rank() + 1, true);
  const Tensor y = allgather(x, {.name = "rows"});
  y.backward(gradient_for(y));
  const std::int64_t before = rank() * (rank() + 1) / 2;
  EXPECT_EQ(values(x.grad()),
            values(mean_gradient_for(y).narrow(0, before, rank() + 1)));
  const Tensor a = like_rank({1, 2}, true);
  const Tensor b = rows_of(rank(), rank() + 1, true);
  const auto both = grouped_allgather({a, b});
  (both[0].sum() + (both[1] * both[1].detach()).sum()).backward();
  EXPECT_EQ(values(a.grad()), repeated(2, 1));
  EXPECT_EQ(values(b.grad()), values(b.detach()));
}

inline void a_broadcast_has_its_gradient_on_the_root() {
  for (int root = 0; root < size(); ++root) {
    const Tensor x = rows_of(rank(), 2, true);
    const Tensor y = broadcast(x, root, {.name = "root"});
    y.backward(gradient_for(y));
    const Numbers expected =
        rank() == root ? values(mean_gradient_for(y)) : repeated(4, 0);
    EXPECT_EQ(values(x.grad()), expected);
    x.set_grad({});
    const Tensor z = x * 1.0;
    broadcast_(z, root).backward(gradient_for(y));
    EXPECT_EQ(values(x.grad()), expected);
  }
}

inline void an_alltoall_sends_gradients_back() {
  const int n = size();
  // One row to the first rank, two to the second …; three stay.
  std::vector<std::int64_t> splits(static_cast<std::size_t>(n));
  std::iota(splits.begin(), splits.end(), 1);
  const std::int64_t sent = n * (n + 1) / 2;
  const Tensor x = rows_of(rank(), sent + 3, true);
  const auto received = alltoall(x, {.name = "rows", .splits = splits});
  received.tensor.backward(gradient_for(received.tensor));
  Numbers expected;
  for (int r = 0; r < n; ++r) {
    // In rank r's result, this rank's rows follow the previous ranks' rows.
    for (int row = 0; row <= r; ++row) {
      expected.insert(expected.end(), 2, 10.0 * r + (r + 1) * rank() + row);
    }
  }
  expected.insert(expected.end(), 6, 0.0);
  EXPECT_EQ(values(x.grad()), expected);
}

inline void a_reducescatter_gathers_the_gradients() {
  const double n = size();
  for (const auto& [op, factor] : {std::pair(ReduceOp::kAverage, 6.0),
                                   std::pair(ReduceOp::kSum, 6.0 * n)}) {
    const Tensor x = rows_of(rank(), size() + 1, true);
    const Tensor y = reducescatter(x, {.name = "part",
                                       .op = op,
                                       .prescale_factor = 2,
                                       .postscale_factor = 3});
    y.backward(gradient_for(y));
    Tensor all = gradient_for(zeros({2, 2}), 0);
    for (int r = 1; r < size(); ++r) {
      all = cat({all, gradient_for(zeros({1, 2}), r)});
    }
    EXPECT_EQ(values(x.grad()), values(all * factor));
  }
}

// f(x) = sum((allreduce x)^3): a second derivative along v = ones sums over the
// ranks.
inline void derivatives_have_derivatives() {
  const double n = size();
  const Tensor x =
      full({2}, 2.0, {.dtype = DType::kF64, .requires_grad = true});
  const Tensor y = allreduce(x, {.name = "x", .op = ReduceOp::kSum});  // 2 n
  const auto first =
      autograd::grad({(y * y * y).sum()}, {x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(values(first.detach()), repeated(2, n * 3 * 4 * n * n));
  first.sum().backward();
  EXPECT_EQ(values(x.grad()), repeated(2, n * n * 6 * 2 * n));

  const Tensor z = like_rank({2}, true);
  const Tensor root = broadcast(z, 0);  // Zeros.
  const auto slope =
      autograd::grad({(exp(root)).sum()}, {z}, {}, {.create_graph = true})[0];
  EXPECT_EQ(values(slope.detach()), repeated(2, rank() == 0 ? 1 : 0));
  slope.sum().backward();
  EXPECT_EQ(values(z.grad()), repeated(2, rank() == 0 ? 1 / n : 0));
}

// Item 219.
inline void other_ops_have_no_gradient() {
  const Tensor x = like_rank({2}, true);
  const Tensor largest = allreduce(x, {.name = "m", .op = ReduceOp::kMax});
  EXPECT_EQ(values(largest.detach()), repeated(2, size() - 1));
  EXPECT_ERROR(autograd::NotDifferentiableError, "'m', op max",
               largest.sum().backward());
  EXPECT_ERROR(autograd::NotDifferentiableError, "reduce by sum or average",
               reducescatter(like_rank({size()}, true), {.op = ReduceOp::kMin})
                   .sum()
                   .backward());
  EXPECT_FALSE(allreduce(x.detach(), {.op = ReduceOp::kMax}).requires_grad());
}

constexpr TensorCase kGradientCases[] = {
    {"AnAllreduceReducesTheGradients", an_allreduce_reduces_the_gradients},
    {"AWriteThroughAViewPassesReducedGradients",
     a_write_through_a_view_passes_reduced_gradients},
    {"AGroupHasTheGradientsOfItsTensors",
     a_group_has_the_gradients_of_its_tensors},
    {"AnAllgatherReturnsEachRankItsRows",
     an_allgather_returns_each_rank_its_rows},
    {"ABroadcastHasItsGradientOnTheRoot",
     a_broadcast_has_its_gradient_on_the_root},
    {"AnAlltoallSendsGradientsBack", an_alltoall_sends_gradients_back},
    {"AReducescatterGathersTheGradients",
     a_reducescatter_gathers_the_gradients},
    {"DerivativesHaveDerivatives", derivatives_have_derivatives},
    {"OtherOpsHaveNoGradient", other_ops_have_no_gradient},
};

}  // namespace hvd::suite
