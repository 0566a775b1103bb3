// SPDX-License-Identifier: Apache-2.0
// Medians, quantiles, distinct slices and running extremes: derivatives, ties,
// NaN, refusals. test/differential compares values with PyTorch's.
#include "horovodpp/ops/order/medians.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using testing::ElementsAre;
using testing::IsNan;

Tensor row_of(std::vector<float> numbers) {
  const auto n = static_cast<std::int64_t>(numbers.size());
  return from_vector<float>(numbers, {n}, true);
}

TEST(Medians, AreTheLowerOfTwoAndMeetNan) {
  const Tensor x = row_of({3, 1, 2, 5});
  EXPECT_EQ(median(x).item<float>(), 2);
  const Tensor y = row_of({3, NAN, 2, 5});
  EXPECT_THAT(median(y).item<float>(), IsNan());
  EXPECT_EQ(nanmedian(y).item<float>(), 3);
  EXPECT_EQ(median(y, 0).indices.item<std::int64_t>(), 1);
  EXPECT_EQ(nanmedian(y, 0).indices.item<std::int64_t>(), 0);
  EXPECT_THAT(median(row_of({})).item<float>(), IsNan());
  EXPECT_THROW(median(row_of({}), 0), InvalidArgument);
  EXPECT_THROW(median(zeros({0}, {.dtype = DType::kI64})), InvalidArgument);
  EXPECT_THROW(median(zeros({2}, {.dtype = DType::kBool})), InvalidArgument);
}

TEST(Medians, OfAllShareTheGradientAndOfRowsDoNot) {
  const Tensor x = row_of({3, 1, 3, 3});
  median(x).backward();
  EXPECT_THAT(x.grad().to_vector<float>(),
              ElementsAre(1.0f / 3, 0, 1.0f / 3, 1.0f / 3));
  const Tensor y = row_of({3, 1, 3, 3});
  median(y, 0).values.backward();
  EXPECT_THAT(y.grad().to_vector<float>(), ElementsAre(1, 0, 0, 0));
}

TEST(Modes, AreTheSmallestOfTheMostFrequent) {
  const Tensor x = from_vector<float>({1, 2, 2, 1, 3, 5, 5, 1, 1, 1}, {2, 5});
  const SortResult found = mode(x, 1, true);
  EXPECT_THAT(found.values.to_vector<float>(), ElementsAre(1, 1));
  EXPECT_THAT(found.indices.to_vector<std::int64_t>(), ElementsAre(3, 4));
  EXPECT_EQ(found.values.shape(), (autograd::Dims{2, 1}));
  EXPECT_THROW(mode(zeros({2, 0})), InvalidArgument);
}

TEST(Quantiles, HaveBothDerivatives) {
  const Inputs inputs = {
      from_vector<double>({0.3, 2.1, -1.2, 0.9, 1.7, 0.1}, {2, 3}, true)};
  const Tensor shares = from_vector<double>({0.2, 0.75}, {2});
  const auto run = [&](const Inputs& x) {
    return Inputs{square(quantile(x[0], shares, {.dim = 1}))};
  };
  autograd::gradcheck(run, inputs);
  autograd::gradgradcheck(run, inputs);
}

TEST(Quantiles, RefuseSharesAndDtypes) {
  const Tensor x = row_of({1, 2});
  EXPECT_THROW(quantile(x, full({}, 1.5)), InvalidArgument);
  EXPECT_THROW(quantile(x, full({}, NAN)), InvalidArgument);
  EXPECT_THROW(quantile(x, zeros({1, 1})), InvalidArgument);
  EXPECT_THROW(quantile(arange(0, 2), full({}, 0.5)), InvalidArgument);
  EXPECT_THROW(quantile(row_of({}), full({}, 0.5)), InvalidArgument);
}

TEST(RunningExtremes, KeepTheLastOfEqualElementsAndNan) {
  const Tensor x = row_of({1, 1, 3, NAN, 4});
  const RunningResult largest = cummax(x, 0);
  EXPECT_THAT(largest.indices.to_vector<std::int64_t>(),
              ElementsAre(0, 1, 2, 3, 3));
  EXPECT_THAT(largest.values.detach().to_vector<float>(),
              ElementsAre(1, 1, 3, IsNan(), IsNan()));
  const Tensor y = row_of({2, 1, 1});
  cummin(y, 0).values.sum().backward();
  EXPECT_THAT(y.grad().to_vector<float>(), ElementsAre(1, 1, 1));
}

TEST(Logcumsumexp, HasBothDerivativesAndNoOverflow) {
  const Inputs inputs = {
      from_vector<double>({0.3, 2.1, -1.2, 0.9, 1.7, 0.1}, {2, 3}, true)};
  for (const std::int64_t dim : {0, 1}) {
    const auto run = [&](const Inputs& x) {
      const Tensor y = logcumsumexp(x[0], dim);
      return Inputs{y * y * y};
    };
    autograd::gradcheck(run, inputs);
    autograd::gradgradcheck(run, inputs);
  }
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_THAT(logcumsumexp(row_of({-inf, 1000, 1000, -inf}), 0)
                  .detach()
                  .to_vector<float>(),
              ElementsAre(-inf, 1000, testing::FloatEq(1000 + std::log(2.0f)),
                          testing::FloatEq(1000 + std::log(2.0f))));
}

TEST(Distinct, FindsSlicesRunsAndMembers) {
  const Tensor x = from_vector<std::int64_t>({1, 2, 1, 2, 0, 5, 1, 2}, {4, 2});
  const UniqueResult rows = unique(x, 0);
  EXPECT_THAT(rows.values.to_vector<std::int64_t>(), ElementsAre(0, 5, 1, 2));
  EXPECT_THAT(rows.inverse.to_vector<std::int64_t>(), ElementsAre(1, 1, 0, 1));
  EXPECT_THAT(rows.counts.to_vector<std::int64_t>(), ElementsAre(1, 3));
  const UniqueResult runs = unique_consecutive(x, 0);
  EXPECT_THAT(runs.values.to_vector<std::int64_t>(),
              ElementsAre(1, 2, 0, 5, 1, 2));
  EXPECT_THAT(runs.counts.to_vector<std::int64_t>(), ElementsAre(2, 1, 1));
  EXPECT_EQ(unique_consecutive(x).inverse.shape(), x.shape());
  EXPECT_THROW(unique(zeros({2, 0}), 0), InvalidArgument);
  EXPECT_EQ(unique(zeros({0, 2}), 0).values.shape(), (autograd::Dims{0, 2}));
  const Tensor some = from_vector<float>({5, NAN, 2.5}, {3});
  EXPECT_THAT(
      isin(x, some).to_vector<bool>(),
      ElementsAre(false, false, false, false, false, true, false, false));
  EXPECT_FALSE(isin(some, some).to_vector<bool>()[1]);
  EXPECT_TRUE(equal(x, to(x, DType::kF32)));
  EXPECT_FALSE(equal(some, some));
}

TEST(Renorm, LimitsTheNormsOfSlices) {
  const Tensor x = from_vector<float>({3, 4, 0.3f, 0.4f}, {2, 2});
  const auto limited = renorm(x, 2, 0, 1).to_vector<float>();
  EXPECT_THAT(limited,
              ElementsAre(testing::FloatNear(0.6f, 1e-5f),
                          testing::FloatNear(0.8f, 1e-5f), 0.3f, 0.4f));
  EXPECT_THROW(renorm(zeros({2}), 2, 0, 1), InvalidArgument);
}

}  // namespace
}  // namespace hvd
