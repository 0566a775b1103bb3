// SPDX-License-Identifier: Apache-2.0
// Values, derivatives and dtypes are compared with PyTorch's by the random
// programs; here are the cases that these reach seldom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/thread/threads.h"

namespace hvd {
namespace {

using testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor leaf_of(std::vector<float> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  Tensor x = from_vector(values, {n});
  x.set_requires_grad(true);
  return x;
}

std::vector<float> gradient_of(const Tensor& y, const Tensor& x) {
  return autograd::grad({sum(y)}, {x})[0].to_vector<float>();
}

TEST(Prod, TheDerivativeIsRightForZeros) {
  const Tensor one_zero = leaf_of({2, 0, 3});
  EXPECT_THAT(gradient_of(prod(one_zero), one_zero), ElementsAre(0, 6, 0));
  const Tensor two_zeros = leaf_of({0, 0, 3});
  EXPECT_THAT(gradient_of(prod(two_zeros), two_zeros), ElementsAre(0, 0, 0));
  EXPECT_THAT(gradient_of(cumprod(one_zero, 0), one_zero),
              ElementsAre(1, 8, 0));
}

// Rows of more elements than a vector, and columns; of them one has a zero, one
// two, and one a product too small to divide.
TEST(Prod, TheGradientIsTheProductOfTheOthers) {
  constexpr std::int64_t kRows = 5, kSize = 37;
  Tensor rows = rand({kRows, kSize}) + 0.5;
  rows.index_put_({1, 7}, 0.0);
  rows.index_put_({2, 20}, 0.0);
  rows.index_put_({2, 36}, 0.0);
  rows.index_put_({3, 3}, 1e-40);
  const auto others = [&](std::int64_t row, std::int64_t skipped) {
    double product = 1;
    for (std::int64_t i = 0; i < kSize; ++i) {
      if (i != skipped) product *= rows.index({row, i}).item<float>();
    }
    return product;
  };
  for (const std::int64_t dim : {1, 0}) {
    Tensor x = dim == 1 ? clone(rows) : clone(transpose(rows, 0, 1));
    x.set_requires_grad(true);
    const Tensor dx = autograd::grad({sum(prod(x, dim))}, {x})[0];
    const Tensor found = dim == 1 ? dx : transpose(dx, 0, 1);
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t i = 0; i < kSize; ++i) {
        const double wanted = others(row, i);
        EXPECT_NEAR(found.index({row, i}).item<float>(), wanted,
                    1e-5 * wanted + 1e-40);
      }
    }
  }
}

TEST(Prod, HasTwoDerivatives) {
  for (const std::int64_t dim : {0, 1}) {
    Tensor x = rand({3, 4}, {.dtype = DType::kF64}) + 0.5;
    x = x.detach().set_requires_grad(true);
    const auto f = [=](const std::vector<Tensor>& in) {
      return std::vector<Tensor>{prod(in[0], dim)};
    };
    EXPECT_NO_THROW(autograd::gradcheck(f, {x}));
    EXPECT_NO_THROW(autograd::gradgradcheck(f, {x}));
  }
}

TEST(Prod, OfIntegersWrapsAround) {
  const Tensor x = full({70}, 3, {.dtype = DType::kI64});
  std::uint64_t wanted = 1;
  for (int i = 0; i < 70; ++i) wanted *= 3;
  EXPECT_EQ(prod(x).item<std::int64_t>(), static_cast<std::int64_t>(wanted));
}

TEST(Prod, OfNothingIsOne) {
  EXPECT_EQ(prod(zeros({0})).item<float>(), 1);
  EXPECT_THAT(prod(zeros({0, 2}), 0).to_vector<float>(), ElementsAre(1, 1));
}

TEST(Std, TheDerivativeOfNoSpreadIsZero) {
  const Tensor x = leaf_of({2, 2, 2});
  EXPECT_EQ(hvd::std(x).item<float>(), 0);
  EXPECT_THAT(gradient_of(hvd::std(x), x), ElementsAre(0, 0, 0));
}

TEST(Var, OfOneSampleIsNan) {
  EXPECT_TRUE(std::isnan(var(ones({1})).item<float>()));
  EXPECT_EQ(var(ones({1}), {}, {.correction = 0}).item<float>(), 0);
}

TEST(VectorNorm, OfHalvesDoesNotOverflow) {
  const Tensor x = full({1000}, 100, {.dtype = DType::kF16});
  EXPECT_NEAR(vector_norm(x).to(DType::kF32).item<float>(),
              100 * std::sqrt(1000.0), 2);
}

TEST(Logsumexp, DoesNotOverflow) {
  const Tensor x = full({2}, 1000);
  EXPECT_FLOAT_EQ(logsumexp(x, {0}).item<float>(),
                  static_cast<float>(1000 + std::log(2.0)));
  const Tensor none = full({2}, -kInfinity);
  EXPECT_EQ(logsumexp(none, {0}).item<float>(), -kInfinity);
}

TEST(Amax, EqualElementsShareTheGradient) {
  const Tensor x = leaf_of({1, 3, 3});
  EXPECT_THAT(gradient_of(amax(x), x), ElementsAre(0, 0.5, 0.5));
  EXPECT_THROW(amax(zeros({0})), InvalidArgument);
}

TEST(Cumsum, IsTheSameForEveryNumberOfThreads) {
  const Tensor x = arange(0, 300 * 70).reshape({300, 70}).to(DType::kF32);
  set_num_threads(1);
  const auto rows = cumsum(x, 1).to_vector<float>();
  const auto columns = cumsum(x, 0).to_vector<float>();
  set_num_threads(2);
  EXPECT_EQ(cumsum(x, 1).to_vector<float>(), rows);
  EXPECT_EQ(cumsum(x, 0).to_vector<float>(), columns);
  set_num_threads(1);
  EXPECT_EQ(rows[69], 69 * 70 / 2);
  EXPECT_EQ(columns[299 * 70], 70 * 299 * 300 / 2);
}

TEST(Cumsum, AddsUpAnyNumberOfRowsFromBothEnds) {
  for (const autograd::Dims& shape :
       {autograd::Dims{1, 5}, autograd::Dims{7, 1}, autograd::Dims{9, 33},
        autograd::Dims{67, 2000}, autograd::Dims{0, 3}, autograd::Dims{3, 0}}) {
    // Whole numbers, whose sums are exact.
    const Tensor x = floor(randn(shape) * 4.0).set_requires_grad(true);
    for (const std::int64_t dim : {0, 1}) {
      SCOPED_TRACE(shape.to_string());
      x.set_grad({});
      const Tensor y = cumsum(x, dim);
      const Tensor grad = floor(randn(shape) * 4.0);
      y.backward(grad);
      const std::int64_t n = shape[static_cast<std::size_t>(dim)];
      Tensor sum_before = zeros({}), sum_after = zeros({});
      for (std::int64_t i = 0; i < n; ++i) {
        sum_before = sum_before + x.detach().select(dim, i);
        EXPECT_EQ(y.detach().select(dim, i).to_vector<float>(),
                  sum_before.to_vector<float>());
        sum_after = sum_after + grad.select(dim, n - 1 - i);
        EXPECT_EQ(x.grad().select(dim, n - 1 - i).to_vector<float>(),
                  sum_after.to_vector<float>());
      }
      EXPECT_EQ(x.grad().shape(), shape);
    }
  }
}

}  // namespace
}  // namespace hvd
