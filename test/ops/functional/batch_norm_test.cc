// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/autograd/reentrant_checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/functional/norms.h"
#include "horovodpp/ops/images/images.h"
#include "test/autograd/near.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::ElementsAre;

const BatchNormOptions kTraining{.training = true};

class BatchNorm : public testing::TestWithParam<Dims> {
 protected:
  std::int64_t channels() const { return GetParam()[1]; }
  Tensor x_ = randn64(GetParam());
  Tensor mean_ = randn64({channels()}).detach();
  Tensor variance_ = rand({channels()}, {.dtype = DType::kF64}) + 0.5;
  Tensor weight_ = randn64({channels()});
  Tensor bias_ = randn64({channels()});
};

// The same from simpler operations.
Tensor composed(const Tensor& x, const Tensor& mean, const Tensor& variance,
                const Tensor& weight, const Tensor& bias) {
  Dims shape = Dims::filled(x.shape().size(), 1);
  shape[1] = x.size(1);
  const auto shaped = [&](const Tensor& t) { return reshape(t, shape); };
  return (x - shaped(mean)) / sqrt(shaped(variance) + 1e-5) * shaped(weight) +
         shaped(bias);
}

Dims all_but_channels(const Tensor& x) {
  Dims dims{0};
  for (std::int64_t d = 2; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

TEST_P(BatchNorm, NormalizesByTheBatchWhileTraining) {
  const Tensor y =
      batch_norm(x_, Tensor(), Tensor(), weight_, bias_, kTraining);
  const Dims over = all_but_channels(x_);
  const Tensor mean = x_.mean(over, true);
  const Tensor variance = ((x_ - mean) * (x_ - mean)).mean(over);
  expect_near(y, composed(x_, reshape(mean, {-1}), variance, weight_, bias_),
              1e-12);
}

TEST_P(BatchNorm, NormalizesByTheRunningStatisticsInEvaluation) {
  const auto before = values(mean_);
  const Tensor y = batch_norm(x_, mean_, variance_, weight_, bias_);
  expect_near(y, composed(x_, mean_, variance_, weight_, bias_), 1e-12);
  EXPECT_EQ(values(mean_), before);
}

TEST_P(BatchNorm, HasItsFirstAndSecondDerivatives) {
  for (bool training : {true, false}) {
    const auto run = [&](const std::vector<Tensor>& v) {
      return std::vector{batch_norm(v[0], mean_.clone(), variance_.clone(),
                                    v[1], v[2], {.training = training})};
    };
    autograd::gradcheck(run, {x_, weight_, bias_});
    autograd::gradgradcheck(run, {x_, weight_, bias_});
    const auto plain = [&](const std::vector<Tensor>& v) {
      return std::vector{batch_norm(v[0], mean_.clone(), variance_.clone(),
                                    Tensor(), Tensor(),
                                    {.training = training})};
    };
    autograd::gradcheck(plain, {x_});
    autograd::gradgradcheck(plain, {x_});
  }
}

// y and the gradients, in x's dtype, with parameters in another dtype.
std::vector<Tensor> all_of(const Tensor& x, const Tensor& w, const Tensor& b,
                           const Tensor& grad) {
  std::vector<Tensor> leaves;
  for (const Tensor& t : {x, w, b}) {
    leaves.push_back(t.clone().set_requires_grad(true));
  }
  const Tensor y = batch_norm(leaves[0], Tensor(), Tensor(), leaves[1],
                              leaves[2], kTraining);
  y.backward(grad);
  return {y, leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
}

TEST(BatchNormStatistics, DoNotRequireGrad) {
  const Tensor x = ones64({3, 2});
  for (bool training : {true, false}) {
    for (bool of_mean : {true, false}) {
      const Tensor mean = ones64({2}, of_mean);
      const Tensor variance = ones64({2}, !of_mean);
      const auto run = [&] {
        return batch_norm(x, mean, variance, Tensor(), Tensor(),
                          {.training = training});
      };
      EXPECT_ERROR(InvalidArgument, "have no gradient", run());
      NoGrad no_grad;
      EXPECT_EQ(run().shape(), x.shape());
    }
  }
}

TEST(BatchNormStatistics, HaveTheMeanOfInfiniteImages) {
  const Tensor x = constant({INFINITY, 1, 2, -INFINITY, 3, 4}, {3, 2});
  const Tensor mean = zeros({2}, {.dtype = DType::kF64});
  const Tensor variance = mean.clone();
  batch_norm(x, mean, variance, Tensor(), Tensor(), kTraining);
  EXPECT_EQ(values(mean), (std::vector<double>{INFINITY, -INFINITY}));
  EXPECT_THAT(values(variance), testing::Each(testing::IsNan()));
  batch_norm(ones64({3, 2}), mean, variance, Tensor(), Tensor(), kTraining);
  EXPECT_EQ(values(mean), (std::vector<double>{INFINITY, -INFINITY}));
}

TEST_P(BatchNorm, IsTheSameInTheNarrowerTypes) {
  struct Types {
    DType x, parameters;
    double tolerance;
  };
  for (const auto& t : {Types{DType::kF32, DType::kF32, 2e-6},
                        Types{DType::kBF16, DType::kBF16, 2e-2},
                        Types{DType::kBF16, DType::kF32, 2e-2},
                        Types{DType::kF16, DType::kF32, 2e-3}}) {
    const Tensor x = to(randn(GetParam()) + 3.0, t.x);
    const Tensor grad = to(randn(GetParam()), t.x);
    const Tensor w = to(weight_.detach(), t.parameters);
    const Tensor b = to(bias_.detach(), t.parameters);
    const auto found = all_of(x, w, b, grad);
    const auto wide = [](const Tensor& v) { return to(v, DType::kF64); };
    const auto wanted = all_of(wide(x), wide(w), wide(b), wide(grad));
    EXPECT_EQ(found[0].dtype(), t.x);
    EXPECT_EQ(found[1].dtype(), t.x);
    EXPECT_EQ(found[2].dtype(), t.parameters);
    for (std::size_t i = 0; i < found.size(); ++i) {
      SCOPED_TRACE(i);
      expect_near(found[i], wanted[i], t.tolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BatchNorm,
                         testing::Values(Dims{5, 3}, Dims{2, 2, 4},
                                         Dims{2, 3, 3, 2}, Dims{3, 1, 2, 2},
                                         Dims{4, 19, 5, 2},
                                         Dims{2, 2, 2, 1, 3}));

TEST(BatchNorm, HidesNoNanInItsRunningStatistics) {
  const Tensor mean = zeros({2}), variance = ones({2});
  batch_norm(from_vector<float>({1, 1, NAN, 2, 2, 3}, {3, 2}), mean, variance,
             {}, {}, {.training = true});
  EXPECT_TRUE(std::isnan(mean.to_vector<float>()[0]));
  EXPECT_TRUE(std::isnan(variance.to_vector<float>()[0]));
  EXPECT_NEAR(variance.to_vector<float>()[1], 1.0, 1e-6);
}

TEST(BatchNorm, PassesGradientsToInfiniteImagesByRunningStatistics) {
  const Tensor x = leaf({1, INFINITY, -INFINITY, NAN}, {2, 2});
  const Tensor mean = zeros({2}, {.dtype = DType::kF64});
  const Tensor variance = mean + 3.0;
  batch_norm(x, mean, variance, {}, {}, {.eps = 1}).sum().backward();
  EXPECT_THAT(values(x.grad()), testing::Each(0.5));
}

TEST(BatchNorm, KeepsTheRunningStatisticsThatItUsed) {
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2}), weight = leaf({1, 1}, {2});
  const Tensor mean = zeros({2}, {.dtype = DType::kF64});
  const Tensor variance = mean + 3.0;
  const Tensor y = batch_norm(x, mean, variance, weight, {}, {.eps = 1});
  mean.fill_(7);
  variance.fill_(99);
  y.sum().backward();
  EXPECT_THAT(values(x.grad()), testing::Each(0.5));
  EXPECT_THAT(values(weight.grad()), ElementsAre(2, 3));
}

TEST(BatchNorm, TakesImagesThatLieAnyhow) {
  const Tensor x = randn64({2, 3, 4, 5}).detach();
  const auto run = [](const Tensor& t) {
    return batch_norm(t, {}, {}, {}, {}, kTraining);
  };
  EXPECT_TRUE(run(x).is_contiguous());
  EXPECT_TRUE(autograd::is_channels_last(run(channels_last(x))));
  expect_near(run(channels_last(x)), run(x), 1e-14);
  expect_near(run(x.transpose(2, 3).clone().transpose(2, 3)), run(x), 1e-14);
}

// y and the gradients of x, weight and bias.
std::vector<Tensor> results_for(const Tensor& x, const Tensor& grad,
                                bool training) {
  const std::int64_t channels = x.size(1);
  const Tensor image = x.detach().set_requires_grad(true);
  const Tensor weight = ones({channels}, {x.dtype(), true});
  const Tensor bias = zeros({channels}, {x.dtype(), true});
  const Tensor y = batch_norm(image, full({channels}, 0.25, {x.dtype()}),
                              full({channels}, 2.0, {x.dtype()}), weight, bias,
                              {.training = training});
  y.backward(grad);
  return {y, image.grad(), weight.grad(), bias.grad()};
}

TEST(BatchNorm, ComputesTheSameInEachLayoutAndSize) {
  for (const Dims& shape :
       {Dims{3, 5, 1, 1}, Dims{2, 3, 7, 7}, Dims{3, 2, 15, 17},
        Dims{2, 3, 61, 71}, Dims{1, 2, 128, 130}, Dims{5, 33, 31, 1}}) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
      for (const bool training : {true, false}) {
        SCOPED_TRACE(shape.to_string());
        const double tolerance = dtype == DType::kF64    ? 1e-11
                                 : dtype == DType::kBF16 ? 5e-2
                                                         : 2e-4;
        const Tensor x = to(randn(shape) + 1.0, dtype);
        const Tensor grad = to(randn(shape), dtype);
        if (x.size(0) * x.size(2) * x.size(3) == 1) continue;
        const auto planes = results_for(x, grad, training);
        const auto last =
            results_for(channels_last(x), channels_last(grad), training);
        const auto mixed = results_for(x, channels_last(grad), training);
        for (std::size_t i = 0; i < planes.size(); ++i) {
          SCOPED_TRACE(i);
          expect_near(planes[i], last[i], tolerance);
          expect_near(planes[i], mixed[i], 0.0);
        }
      }
    }
  }
}

TEST(BatchNorm, TakesNoImagesInEvaluation) {
  const Tensor x = randn({0, 3, 4, 4}, {.requires_grad = true});
  const Tensor weight = ones({3}, {.requires_grad = true});
  batch_norm(x, zeros({3}), ones({3}), weight, {}).sum().backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
  EXPECT_THAT(values(to(weight.grad(), DType::kF64)), testing::Each(0.0));
}

TEST(BatchNorm, IsExactFarFromZeroAndOverManyRows) {
  Tensor x = randn({70000, 2}) * 0.01 + 100.0;
  const Tensor y = batch_norm(x, {}, {}, {}, {}, {.training = true, .eps = 0});
  expect_near(y,
              batch_norm(to(x, DType::kF64), {}, {}, {}, {},
                         {.training = true, .eps = 0}),
              // A float this far from 0 has no more digits.
              2e-3);
  const Tensor near = randn({70000, 2}) + 3.0;
  expect_near(batch_norm(near, {}, {}, {}, {}, kTraining),
              batch_norm(to(near, DType::kF64), {}, {}, {}, {}, kTraining),
              1e-6);
}

TEST(BatchNorm, MovesTheRunningStatisticsTowardsTheUnbiasedOnes) {
  const Tensor x = constant({1, 3, 2, 6}, {4, 1});
  const Tensor mean = constant({1}, {1}), variance = constant({2}, {1});
  batch_norm(x, mean, variance, {}, {}, {.training = true, .momentum = 0.25});
  EXPECT_THAT(values(mean), ElementsAre(1 + 0.25 * (3 - 1)));
  EXPECT_NEAR(values(variance)[0], 0.75 * 2 + 0.25 * (14.0 / 3), 1e-14);
  EXPECT_EQ(mean.version(), 1U);
}

TEST(BatchNorm, MovesThemOnceIfACheckpointRecomputes) {
  const Tensor mean = constant({0}, {1}), variance = constant({1}, {1});
  Tensor x = leaf({1, 3, 2, 6}, {4, 1});
  const auto region = [&](const std::vector<Tensor>& v) {
    return std::vector{batch_norm(v[0], mean, variance, {}, {}, kTraining)};
  };
  const Tensor y = autograd::checkpoint_reentrant(region, {x})[0];
  const auto once = values(mean);
  EXPECT_NEAR(once[0], 0.3, 1e-15);
  (y * y * y).sum().backward();
  EXPECT_EQ(values(mean), once);
  EXPECT_FALSE(autograd::is_recomputing());
}

TEST(BatchNorm, CanBeFollowedByAnInplaceRelu) {
  Tensor x = randn64({2, 3, 2, 2});
  const Tensor y = batch_norm(x, {}, {}, {}, {}, kTraining);
  y.relu_();
  EXPECT_NO_THROW(y.sum().backward());
}

TEST(BatchNorm, FreesItsSavedTensors) {
  const auto before = autograd::saved_tensor_bytes();
  Tensor x = randn64({2, 3, 2, 2});
  batch_norm(x, {}, {}, {}, {}, kTraining).sum().backward();
  EXPECT_EQ(autograd::saved_tensor_bytes(), before);
}

TEST(BatchNorm, RefusesMismatchedArguments) {
  const Tensor x = randn({2, 3, 4, 4});
  EXPECT_ERROR(InvalidArgument, "more than 1 value per channel",
               batch_norm(randn({1, 3}), {}, {}, {}, {}, kTraining));
  EXPECT_ERROR(InvalidArgument, "must be training",
               batch_norm(x, {}, {}, {}, {}));
  EXPECT_ERROR(InvalidArgument, "float32[4]",
               batch_norm(x, {}, {}, randn({4}), {}, kTraining));
  EXPECT_ERROR(InvalidArgument, "float64[3]",
               batch_norm(x, {}, {}, randn64({3}), {}, kTraining));
  EXPECT_ERROR(InvalidArgument, "[n, channels, ...]",
               batch_norm(randn({3}), {}, {}, {}, {}, kTraining));
  EXPECT_ERROR(InvalidArgument, "floating point",
               batch_norm(to(x, DType::kI32), {}, {}, {}, {}, kTraining));
}

}  // namespace
}  // namespace hvd
