// SPDX-License-Identifier: Apache-2.0
// The loops over rows, of every length, and the reductions made of them.
#include "horovodpp/kernel/loops/rows.h"

#include <cmath>

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using autograd::Dims;
namespace rows = autograd::rows;

std::vector<float> numbers(std::size_t n) {
  manual_seed(n);
  return randn({static_cast<std::int64_t>(n)}).to_vector<float>();
}

TEST(Rows, AddUpEveryLengthAsDoublesDo) {
  for (std::size_t n : {1u, 7u, 16u, 63u, 64u, 65u, 200u, 5000u}) {
    const auto x = numbers(n);
    const auto y = numbers(n + 1);
    const std::vector<double> wide(x.begin(), x.end());
    const std::vector<double> other(y.begin(), y.begin() + long(n));
    const double bound = 1e-6 * std::sqrt(double(n));
    EXPECT_NEAR(rows::sum(x.data(), n), rows::sum(wide.data(), n), bound);
    EXPECT_NEAR(rows::dot(x.data(), y.data(), n),
                rows::dot(wide.data(), other.data(), n), bound);
    const float largest = rows::max(x.data(), n);
    EXPECT_EQ(largest, static_cast<float>(rows::max(wide.data(), n)));
    EXPECT_EQ(rows::argmax(x.data(), n), rows::argmax(wide.data(), n));
    std::vector<float> out(n);
    std::vector<double> exact(n);
    const double total =
        rows::exp_sum(wide.data(), double{largest}, exact.data(), n);
    EXPECT_NEAR(rows::exp_sum(x.data(), largest, n) / total, 1, 1e-6);
    EXPECT_NEAR(rows::exp_sum(x.data(), largest, out.data(), n) / total, 1,
                1e-6);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(out[i] / exact[i], 1, 1e-6);
    }
    rows::scaled_exp(x.data(), largest, 2.0f, out.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(out[i] / exact[i], 2, 2e-6);
    }
  }
}

TEST(Rows, FindNanAtAnyIndex) {
  for (std::size_t n : {1u, 20u, 33u, 100u}) {
    for (std::size_t at = 0; at < n; ++at) {
      auto x = numbers(n);
      x[at] = NAN;
      EXPECT_TRUE(std::isnan(rows::max(x.data(), n)));
      EXPECT_EQ(rows::argmax(x.data(), n), at);
    }
  }
}

TEST(Rows, AddColumns) {
  for (std::size_t columns : {1u, 5u, 16u, 70u, 130u}) {
    for (std::size_t count : {0u, 1u, 300u}) {
      const auto x = numbers(columns * count + 3 * count);
      std::vector<float> out(columns, 1.0f);
      rows::add_columns(x.data(), count, std::int64_t(columns + 3), out.data(),
                        columns);
      for (std::size_t c = 0; c < columns; ++c) {
        double total = 1;
        for (std::size_t r = 0; r < count; ++r) {
          total += double{x[r * (columns + 3) + c]};
        }
        EXPECT_NEAR(out[c], total, 3e-5);
      }
    }
  }
}

TEST(Reductions, HaveTheirDerivativesInEveryLayout) {
  for (const Dims& dims : {Dims({0}), Dims({1}), Dims({2}), Dims({0, 2}),
                           Dims({1, 2}), Dims({0, 1, 2})}) {
    check_grid([&](const Inputs& x) { return sum(x[0] * x[0], dims); },
               {{2, 3, 4}});
    check_grid([&](const Inputs& x) { return mean(x[0], dims, true) * x[0]; },
               {{2, 3, 4}});
  }
}

TEST(Reductions, AreTheSameInEveryLayout) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kI64, DType::kBF16}) {
    const Tensor x =
        arange(0, 2 * 33 * 5, 1, {.dtype = DType::kF32}).view({2, 33, 5});
    const Tensor moved = to(x.permute({2, 0, 1}).contiguous(), dtype);
    const Tensor strided = moved.permute({1, 2, 0});
    const Tensor rows_of = to(x, dtype);
    for (const Dims& dims : {Dims({0}), Dims({1}), Dims({2}), Dims({0, 2}),
                             Dims({1, 2}), Dims()}) {
      EXPECT_EQ(to(sum(strided, dims), DType::kF64).to_vector<double>(),
                to(sum(rows_of, dims), DType::kF64).to_vector<double>())
          << name_of(dtype) << dims.to_string();
    }
  }
}

TEST(Reductions, OfManyFloatsAreExactInEveryLayout) {
  const auto check = [](const Tensor& x, const Dims& dims) {
    const auto got = to(sum(x, dims), DType::kF64).to_vector<double>();
    const auto wanted = sum(to(x, DType::kF64), dims).to_vector<double>();
    const auto means = to(mean(x, dims), DType::kF64).to_vector<double>();
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i] / wanted[i], 1, 2e-6) << dims.to_string();
      EXPECT_NEAR(means[i], 0.1, 1e-6) << dims.to_string();
    }
  };
  // Rows that are not adjacent; planes of rows; columns, in whole strips, in
  // vectors and one by one.
  check(full({1 << 18, 4}, 0.1).narrow(1, 0, 3), {0, 1});
  check(full({1 << 18, 4}, 0.1).narrow(1, 0, 3), {0});
  check(full({1000, 4, 160, 2}, 0.1), {0, 2});
  check(full({1000, 2, 160}, 0.1), {0, 2});
  check(full({300000, 70}, 0.1), {0});
  check(full({3, 300, 70}, 0.1), {1});
  check(full({300, 3, 300, 5}, 0.1), {0, 2});
}

TEST(Reductions, TakeAScalarAsOneElement) {
  const Tensor x = full({}, 3, {.requires_grad = true});
  EXPECT_EQ(sum(x, {0}).item<float>(), 3);
  EXPECT_EQ(mean(x, {-1}, true).dim(), 0);
  EXPECT_EQ(max(x, 0).indices.item<std::int64_t>(), 0);
  min(x, -1, true).values.backward();
  EXPECT_EQ(x.grad().item<float>(), 1);
  EXPECT_ERROR(InvalidArgument, "dimension 1", sum(x, {1}));
}

TEST(SumOfSquares, OfFloatsIsAddedUpInDouble) {
  EXPECT_NEAR(autograd::sum_of_squares(full({50}, 1e30)), 50e60, 1e55);
  EXPECT_NEAR(autograd::sum_of_squares(full({50}, 1e-30)), 50e-60, 1e-65);
  EXPECT_NEAR(autograd::sum_of_squares(full({1 << 20}, 0.1)), (1 << 20) * 0.01,
              1e-2);
  EXPECT_EQ(autograd::sum_of_squares(full({3}, 2, {.dtype = DType::kBF16})),
            12);
}

}  // namespace
}  // namespace hvd
