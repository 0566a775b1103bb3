// SPDX-License-Identifier: Apache-2.0
// Signs, neighbors, divisors and logarithms of two tensors, interpolation and
// added products: derivatives, ends, dtypes, refusals, and writes in place.
// test/op_db and test/differential compare values with PyTorch's.
#include "horovodpp/ops/binary/pair_ops.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor column(std::vector<double> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return from_vector<double>(values, {n, 1}, true);
}

template <typename Run>
void check_both_derivatives(Run run, const Inputs& inputs) {
  // The product makes the result nonlinear.
  const auto function = [&](const Inputs& x) {
    return Inputs{run(x) * x[0] * x[1]};
  };
  autograd::gradcheck(function, inputs);
  autograd::gradgradcheck(function, inputs);
}

TEST(PairOps, HaveFirstAndSecondDerivatives) {
  using Pair = Tensor (*)(const Tensor&, const Tensor&);
  for (const Pair pair :
       {copysign, logaddexp, logaddexp2, xlogy, xlog1py, ldexp, float_power}) {
    check_both_derivatives(
        [&](const Inputs& x) { return pair(x[0], x[1]); },
        {from_vector<double>({0.7, 2.9, 1.3}, {3}, true), column({1.9, 0.6})});
  }
}

TEST(TripleOps, HaveFirstAndSecondDerivatives) {
  const Inputs inputs = {from_vector<double>({0.7, 2.9, 1.3}, {3}, true),
                         column({1.9, 0.6}), column({0.3, 0.8})};
  check_both_derivatives([](const Inputs& x) { return lerp(x[0], x[1], x[2]); },
                         inputs);
  check_both_derivatives([](const Inputs& x) { return lerp(x[0], x[1], 0.3); },
                         inputs);
  check_both_derivatives(
      [](const Inputs& x) { return addcmul(x[0], x[1], x[2], 2); }, inputs);
  check_both_derivatives(
      [](const Inputs& x) { return addcdiv(x[0], x[1], x[2], -0.5); }, inputs);
}

TEST(PairOps, OfInfinitiesAreNoNan) {
  const Tensor a = from_vector<float>({kInf, -kInf, kInf, 0.0f}, {4});
  const Tensor b = from_vector<float>({kInf, -kInf, -kInf, 0.0f}, {4});
  EXPECT_THAT(logaddexp(a, b).to_vector<float>(),
              ElementsAre(kInf, -kInf, kInf, testing::FloatEq(std::log(2.0f))));
  EXPECT_THAT(logaddexp2(a, b).to_vector<float>(),
              ElementsAre(kInf, -kInf, kInf, 1.0f));
  const Tensor zero = zeros({2});
  EXPECT_THAT(xlogy(zero, from_vector<float>({0, NAN}, {2})).to_vector<float>(),
              ElementsAre(0.0f, testing::IsNan()));
}

TEST(PairOps, FindTheNextNumberOfEachDtype) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const double step = dtype == DType::kF16 ? 0x1p-10 : 0x1p-7;
    const double least = dtype == DType::kF16 ? 0x1p-24 : 0x1p-133;
    const Tensor from = to(from_vector<double>({1, 1, 0, -1, 2}, {5}), dtype);
    const Tensor towards =
        to(from_vector<double>({2, 0, -1, -1, 9}, {5}), dtype);
    const auto next =
        to(nextafter(from, towards), DType::kF64).to_vector<double>();
    EXPECT_THAT(next,
                ElementsAre(1 + step, 1 - step / 2, -least, -1, 2 + 2 * step));
  }
}

TEST(PairOps, OfIntegersKeepTheSmallestNumber) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const Tensor a = from_vector<std::int64_t>({least, -12, 0, 7}, {4});
  const Tensor b = from_vector<std::int64_t>({-1, 18, 0, 0}, {4});
  EXPECT_THAT(gcd(a, b).to_vector<std::int64_t>(), ElementsAre(1, 6, 0, 7));
  EXPECT_THAT(lcm(a, b).to_vector<std::int64_t>(),
              ElementsAre(least, 36, 0, 0));
  const Tensor by = from_vector<std::int64_t>({-1, 5, 1, -2}, {4});
  EXPECT_THAT(div(a, by, Rounding::kTrunc).to_vector<std::int64_t>(),
              ElementsAre(least, -2, 0, -3));
  EXPECT_THAT(div(a, by, Rounding::kFloor).to_vector<std::int64_t>(),
              ElementsAre(least, -3, 0, -4));
}

TEST(NumberOps, ComputeWithANumberForEitherTensor) {
  const Tensor x = column({0.5, -1.5, 2, 4});
  EXPECT_THAT(values(remainder(3, x)), ElementsAre(0, 0, 1, 3));
  EXPECT_THAT(values(div(x, 2, Rounding::kFloor)), ElementsAre(0, -1, 1, 2));
  EXPECT_THAT(values(copysign(x, -0.0)), ElementsAre(-0.5, -1.5, -2, -4));
  EXPECT_EQ(values(xlogy(2, abs(x))), values(log(abs(x)) * 2.0));
  EXPECT_EQ(values(xlog1py(x, 1.5)),
            values(xlog1py(x, full({}, 1.5, {.dtype = DType::kF64}))));
  EXPECT_EQ(values(float_power(2, x)), values(exp2(x)));
  EXPECT_THAT(values(where(gt(x, 1), 0, x)), ElementsAre(0.5, -1.5, 0, 0));
  EXPECT_EQ(where(gt(x, 1), 2, 1).dtype(), DType::kI64);
  EXPECT_EQ(where(gt(x, 1), 2.5, 1).to_vector<float>(),
            std::vector<float>({1, 1, 2.5f, 2.5f}));
  const Tensor whole = from_vector<std::int32_t>({1, 6}, {2});
  EXPECT_EQ(bitwise_left_shift(3, whole).to_vector<std::int32_t>(),
            std::vector<std::int32_t>({6, 192}));
  EXPECT_EQ(bitwise_xor(3, whole).to_vector<std::int32_t>(),
            std::vector<std::int32_t>({2, 5}));
  EXPECT_EQ(xlogy(0.5, whole).dtype(), DType::kF32);
  where(gt(x, 1), 1, x).sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(1, 1, 0, 0));
}

TEST(PairOps, RefuseOtherDtypes) {
  const Tensor x = ones({2}), n = arange(0, 2);
  EXPECT_THROW(gcd(x, x), InvalidArgument);
  EXPECT_THROW(logaddexp(n, n), InvalidArgument);
  EXPECT_THROW(heaviside(x, n), InvalidArgument);
  EXPECT_THROW(div(n, n, Rounding::kTrunc), InvalidArgument);
  EXPECT_THROW(lerp(x, to(x, DType::kF64), 0.5), InvalidArgument);
  EXPECT_THROW(addcdiv(x, n, n), InvalidArgument);
  EXPECT_THROW(addcmul(n, n, n, 0.5), InvalidArgument);
  EXPECT_THROW(copysign_(n, x), InvalidArgument);
}

TEST(TripleOps, EndExactlyWhereTheyShould) {
  const Tensor a = from_vector<float>({1e8f, 3.0f}, {2});
  const Tensor b = from_vector<float>({1.0f, 0.1f}, {2});
  EXPECT_EQ(lerp(a, b, 1.0).to_vector<float>(), b.to_vector<float>());
  EXPECT_EQ(lerp(a, b, 0.0).to_vector<float>(), a.to_vector<float>());
  EXPECT_EQ(lerp(a, b, ones({})).to_vector<float>(), b.to_vector<float>());
}

TEST(TripleOps, WriteInPlaceWithOneVersionMore) {
  const Tensor leaf = ones({2}, {.requires_grad = true});
  EXPECT_THROW(lerp_(leaf, zeros({2}), 0.5), autograd::LeafInplaceError);
  const Tensor average = leaf * 4.0;
  const auto version = average.version();
  lerp_(average, zeros({2}), 0.25);
  EXPECT_EQ(average.version(), version + 1);
  EXPECT_THAT(average.to_vector<float>(), ElementsAre(3, 3));
  addcmul_(average, leaf, leaf, 2.0);  // 3 x + 2 x^2, x = 1
  average.sum().backward();
  EXPECT_THAT(leaf.grad().to_vector<float>(), ElementsAre(7, 7));
}

}  // namespace
}  // namespace hvd
