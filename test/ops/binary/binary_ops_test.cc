// SPDX-License-Identifier: Apache-2.0
// Operations on two tensors beyond arithmetic: derivatives, ties, numbers, and
// refusals. ../promotion_test.cc compares values with PyTorch's.
#include "horovodpp/ops/binary/binary_ops.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/autograd/record/inplace.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using testing::ElementsAre;
using TensorFunction = Tensor (*)(const Tensor&, const Tensor&);

Tensor floats(const std::vector<float>& values) {
  return from_vector(values, {static_cast<std::int64_t>(values.size())}, true);
}

// The gradients of a and b, where each result has the gradient 1.
template <typename Run>
std::vector<std::vector<float>> gradients(Run run, const Tensor& a,
                                          const Tensor& b) {
  run(a, b).sum().backward();
  return {a.grad().to_vector<float>(), b.grad().to_vector<float>()};
}

TEST(BinaryOps, HaveFirstAndSecondDerivatives) {
  const std::map<std::string, TensorFunction> all = {
      {"maximum", maximum}, {"minimum", minimum},     {"fmax", fmax},
      {"fmin", fmin},       {"remainder", remainder}, {"fmod", fmod},
      {"pow", pow},         {"atan2", atan2},         {"hypot", hypot}};
  for (const auto& [name, run] : all) {
    SCOPED_TRACE(name);
    const auto function = [run = run](const Inputs& x) {
      return Inputs{run(x[0], x[1]) * x[0]};
    };
    const Inputs inputs = {
        from_vector<double>({0.7, 2.9, 1.3, 3.1, 0.4, 2.2}, {2, 3}, true),
        from_vector<double>({1.9, 0.6, 2.5}, {3}, true)};
    autograd::gradcheck(function, inputs);
    autograd::gradgradcheck(function, inputs);
  }
}

TEST(Extremes, ShareOrKeepTheGradientOfEqualElements) {
  const auto a = [] { return floats({1, 2, 3}); };
  const auto b = [] { return floats({1, 1, 5}); };
  using Two = std::vector<std::vector<float>>;
  EXPECT_EQ(gradients([](auto& x, auto& y) { return maximum(x, y); }, a(), b()),
            (Two{{0.5, 1, 0}, {0.5, 0, 1}}));
  EXPECT_EQ(gradients([](auto& x, auto& y) { return minimum(x, y); }, a(), b()),
            (Two{{0.5, 0, 1}, {0.5, 1, 0}}));
  EXPECT_EQ(gradients([](auto& x, auto& y) { return fmax(x, y); }, a(), b()),
            (Two{{1, 1, 0}, {0, 0, 1}}));
  EXPECT_EQ(gradients([](auto& x, auto& y) { return fmin(x, y); }, a(), b()),
            (Two{{1, 0, 1}, {0, 1, 0}}));
}

TEST(Extremes, KeepOrIgnoreNotANumber) {
  const Tensor a = floats({NAN, 1, NAN}), b = floats({1, NAN, NAN});
  for (const Tensor& out : {maximum(a, b), minimum(a, b)}) {
    EXPECT_THAT(isnan(out).to_vector<bool>(), ElementsAre(true, true, true));
  }
  for (const Tensor& out : {fmax(a, b), fmin(a, b)}) {
    EXPECT_THAT(isnan(out).to_vector<bool>(), ElementsAre(false, false, true));
  }
}

TEST(Quotients, OfIntegersRefuseZeroAndSurviveTheSmallestNumber) {
  const Tensor x = arange(0, 3);
  const Tensor zeros_too = arange(0, 3);
  for (const TensorFunction run :
       std::initializer_list<TensorFunction>{floor_divide, remainder, fmod}) {
    EXPECT_ERROR(InvalidArgument, "divided by 0", run(x, zeros_too));
  }
  EXPECT_ERROR(InvalidArgument, "divided by 0", remainder(x, 0));
  const auto least = std::numeric_limits<std::int64_t>::min();
  const Tensor small = from_vector<std::int64_t>({least}, {1});
  EXPECT_EQ(floor_divide(small, -1).item<std::int64_t>(), least);
  EXPECT_EQ(remainder(small, -1).item<std::int64_t>(), 0);
  EXPECT_EQ(fmod(small, -1).item<std::int64_t>(), 0);
  EXPECT_TRUE(std::isinf(floor_divide(floats({1}), 0.0).item<float>()));
}

TEST(BinaryOps, TakeNumbersOfAnyCategory) {
  EXPECT_THAT(remainder(arange(-2, 3), 3).to_vector<std::int64_t>(),
              ElementsAre(1, 2, 0, 1, 2));
  EXPECT_THAT(fmod(arange(-2, 3), 1.5).to_vector<float>(),
              ElementsAre(-0.5f, -1.0f, 0.0f, 1.0f, 0.5f));
  EXPECT_THAT(floor_divide(arange(-2, 3), 2).to_vector<std::int64_t>(),
              ElementsAre(-1, -1, 0, 0, 1));
  EXPECT_THAT(pow(2, arange(0, 4)).to_vector<std::int64_t>(),
              ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(pow(2.0, arange(0, 4)).to_vector<float>(),
              ElementsAre(1, 2, 4, 8));
}

TEST(BinaryOpsInPlace, RecordThemselves) {
  Tensor x = floats({2, 3}), y = floats({2, 2});
  const Tensor z = x.clone();
  pow_(z, y);
  EXPECT_THAT(z.to_vector<float>(), ElementsAre(4, 9));
  div_(z, y);
  z.sum().backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(2, 3));
  EXPECT_NEAR(y.grad().to_vector<float>()[0], 2 * std::log(2.0) - 1, 1e-6);
}

TEST(BinaryOpsInPlace, ReadTheirOwnMemoryBeforeTheyWrite) {
  const Tensor x = arange(1, 4);
  remainder_(x.slice(0, 1, 3), x.slice(0, 0, 2));
  EXPECT_THAT(x.to_vector<std::int64_t>(), ElementsAre(1, 0, 1));
}

TEST(BinaryOpsInPlace, KeepTheDtypeOrSayWhyNot) {
  const Tensor x = arange(1, 4);
  EXPECT_ERROR(InvalidArgument,
               "div: a result of dtype float32 cannot be cast to int64[3]",
               div_(x, x));
  EXPECT_EQ(x.version(), 0u);
  const Tensor low = ones({3}, {.dtype = DType::kBF16});
  EXPECT_EQ(div_(low, full({3}, 4.0)).dtype(), DType::kBF16);
  EXPECT_THAT(low.to(DType::kF32).to_vector<float>(),
              ElementsAre(0.25, 0.25, 0.25));
}

TEST(Hypot, OfIntegersIsRefused) {
  EXPECT_ERROR(InvalidArgument, "hypot: computes in floating point",
               hypot(arange(0, 3), arange(0, 3)));
}

}  // namespace
}  // namespace hvd
