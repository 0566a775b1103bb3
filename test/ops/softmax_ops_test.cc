// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::Each;
using testing::ElementsAre;

TEST(Softmax, HasItsDerivativesAlongEveryDimension) {
  for (std::int64_t dim : {0, 1, -1}) {
    SCOPED_TRACE(dim);
    check_grid([dim](const Inputs& x) { return softmax(x[0], dim) * x[0]; },
               {{2, 3, 4}}, {.repeated = false});
    check_grid([dim](const Inputs& x) { return log_softmax(x[0], dim) * x[0]; },
               {{2, 3, 4}}, {.repeated = false});
  }
  check_grid([](const Inputs& x) { return softmax(x[0], 0) * x[1]; },
             {{3}, {3}});
}

// Attention with a mask or dropout writes to weights like this.
TEST(Softmax, IsMaskedInPlace) {
  const Tensor mask = constant({1, 0, 1}, {3});
  for (const std::int64_t dim : {0, 1}) {
    SCOPED_TRACE(dim);
    const Tensor x = leaf({1, 2, 3, 4, 5, 7}, {2, 3});
    const Tensor y = softmax(x, dim);
    const auto plain = values(y);
    y.mul_(mask);
    EXPECT_THAT(values(y),
                ElementsAre(plain[0], 0, plain[2], plain[3], 0, plain[5]));
    // The backward of softmax needs the overwritten values.
    EXPECT_ERROR(autograd::VersionError, "SoftmaxBackward", y.sum().backward());
  }
  const Tensor logs = log_softmax(leaf({1, 2, 3}, {3}), 0);
  logs.add_(1.0);
  EXPECT_EQ(logs.version(), 1u);
}

TEST(Softmax, AddsUpToOneAndIsTheExponentialOfItsLogarithm) {
  for (std::int64_t n : {1, 3, 16, 17, 63, 100}) {
    manual_seed(5);
    const Tensor x = randn({4, n}) * 5.0;
    const Tensor y = softmax(x, 1);
    for (float total : y.sum({1}).to_vector<float>()) {
      EXPECT_NEAR(total, 1, 1e-6);
    }
    const auto logs = exp(log_softmax(x, 1)).to_vector<float>();
    const auto exact = softmax(x.to(DType::kF64), 1).to_vector<double>();
    const auto direct = y.to_vector<float>();
    for (std::size_t i = 0; i < exact.size(); ++i) {
      EXPECT_NEAR(logs[i] / exact[i], 1, 1e-5);
      EXPECT_NEAR(direct[i] / exact[i], 1, 1e-5);
    }
  }
}

TEST(Softmax, BackwardOfFloatsIsThatOfDoubles) {
  for (const bool logs : {false, true}) {
    const auto gradient = [logs](DType dtype) {
      manual_seed(3);
      Tensor x = randn({5, 37}, {.dtype = DType::kF64}).to(dtype);
      x.set_requires_grad(true);
      const Tensor w = randn({5, 37}, {.dtype = DType::kF64}).to(dtype);
      const Tensor y = logs ? log_softmax(x, 1) : softmax(x, 1);
      (y * w).sum().backward();
      return x.grad().to(DType::kF64).to_vector<double>();
    };
    const auto wanted = gradient(DType::kF64);
    const auto got = gradient(DType::kF32);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(got[i], wanted[i], 1e-6);
    }
  }
}

TEST(Softmax, MeetsInfinitiesAndNanAsExpDoes) {
  const float inf = INFINITY;
  EXPECT_THAT(softmax(from_vector<float>({0, -inf, 0, -inf}, {4}), 0)
                  .to_vector<float>(),
              ElementsAre(0.5f, 0, 0.5f, 0));
  for (float bad : {inf, float{NAN}}) {
    const auto y =
        softmax(from_vector<float>({0, bad, 1}, {3}), 0).to_vector<float>();
    EXPECT_TRUE(std::isnan(y[1]));
  }
  EXPECT_TRUE(std::isnan(softmax(full({3}, -inf), 0).to_vector<float>()[0]));
  EXPECT_THAT(
      log_softmax(from_vector<float>({1000, 1000}, {2})).to_vector<float>(),
      Each(testing::FloatNear(-std::log(2.0f), 1e-6f)));
}

TEST(Softmax, HandlesScalarsAndEmptyInputs) {
  EXPECT_EQ(softmax(full({}, 3), 0).item<float>(), 1);
  EXPECT_EQ(softmax(ones({0, 3}), 1).shape(), Dims({0, 3}));
  EXPECT_EQ(softmax(ones({3, 0}), 1).shape(), Dims({3, 0}));
  EXPECT_ERROR(InvalidArgument, "softmax: dimension 2",
               softmax(ones({2, 3}), 2));
  EXPECT_ERROR(InvalidArgument, "floating point",
               softmax(ones({2}, {.dtype = DType::kI64}), 0));
}

TEST(Softmax, OfHalvesIsComputedInFloat) {
  const Tensor x = full({4096}, 1, {.dtype = DType::kBF16});
  const Tensor y = softmax(x, 0);
  EXPECT_EQ(y.dtype(), DType::kBF16);
  EXPECT_EQ(y.to(DType::kF32).to_vector<float>()[7], 1.0f / 4096);
}

}  // namespace
}  // namespace hvd
