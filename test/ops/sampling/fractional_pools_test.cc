// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/sampling/fractional_pools.h"

#include <cmath>
#include <limits>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "test/autograd/near.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::ElementsAre;

const Dims kOneImage = {1, 1, 4, 5};
Tensor one_image() {
  return constant({3, 9, 4, 1, 7, 8, 2, 6, 5, 0, 4, 4, 1, 9, 2, 7, 3, 8, 6, 5},
                  kOneImage);
}
Tensor sample() { return constant({0.75, 0.25}, {1, 1, 2}); }

// Expected values are PyTorch's.
TEST(FractionalMaxPool2d, HasWindowsAtThePlacesOfTheSamples) {
  const auto by_size = fractional_max_pool2d_with_indices(
      one_image(), {.kernel = 2, .output_size = {2, 3}, .samples = sample()});
  EXPECT_THAT(values(by_size.values), ElementsAre(9, 9, 7, 7, 8, 9));
  EXPECT_THAT(by_size.indices.to_vector<std::int64_t>(),
              ElementsAre(1, 1, 4, 15, 17, 13));
  const Tensor by_ratio = fractional_max_pool2d(
      one_image(),
      {.kernel = 2, .output_ratio = {0.7, 0.7}, .samples = sample()});
  EXPECT_EQ(values(by_ratio), values(by_size.values));
}

TEST(FractionalMaxPool3d, PlacesTheWindowsOfEachImage) {
  const Tensor x =
      fmod(arange(0, 120).to(DType::kF64) * 7.0, 31.0).reshape({1, 2, 4, 3, 5});
  const auto [y, places] = fractional_max_pool3d_with_indices(
      x,
      {.kernel = {2, 1, 2},
       .output_size = {2, 2, 3},
       .samples = constant({0.75, 0.25, 0.5, 0.125, 0.875, 0.375}, {1, 2, 3})});
  EXPECT_THAT(places.to_vector<std::int64_t>(),
              ElementsAre(16, 17, 4, 26, 13, 13, 30, 48, 48, 56, 57, 44, 15, 18,
                          19, 10, 28, 28, 46, 32, 49, 55, 58, 59));
  EXPECT_THAT(values(y.select(0, 0).select(0, 1)),
              ElementsAre(29, 19, 26, 25, 27, 27, 29, 24, 19, 30, 20, 27));
}

TEST(FractionalMaxPool2d, HasItsFirstAndSecondDerivatives) {
  const auto run = [](const std::vector<Tensor>& v) {
    const Tensor y = fractional_max_pool2d(
        v[0], {.kernel = {2, 3},
               .output_size = {3, 2},
               .samples = constant({0.5, 0.25, 0, 0.75}, {1, 2, 2})});
    return std::vector{y * y};
  };
  const Tensor x = randn64({2, 5, 4});
  autograd::gradcheck(run, {x});
  autograd::gradgradcheck(run, {x});
}

TEST(FractionalMaxPool2d, DrawsSamplesFromTheGenerator) {
  const Tensor x = randn64({2, 3, 9, 9});
  const FractionalMaxPool2dOptions options{.kernel = 2, .output_size = 4};
  manual_seed(7);
  const Tensor first = fractional_max_pool2d(x, options);
  const Tensor second = fractional_max_pool2d(x, options);
  manual_seed(7);
  EXPECT_EQ(values(fractional_max_pool2d(x, options)), values(first));
  EXPECT_NE(values(first), values(second));
}

TEST(FractionalMaxPool2d, TakesNanAndInfinity) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = constant({1, kNan, -INFINITY, -INFINITY}, {1, 1, 2, 2});
  const auto [y, places] = fractional_max_pool2d_with_indices(
      x, {.kernel = {2, 1}, .output_size = {1, 2}, .samples = sample()});
  EXPECT_TRUE(std::isnan(values(y)[1]));
  EXPECT_THAT(places.to_vector<std::int64_t>(), ElementsAre(0, 1));
  EXPECT_EQ(fractional_max_pool2d(randn({0, 3, 4, 4}),
                                  {.kernel = 2, .output_size = 2})
                .shape(),
            Dims({0, 3, 2, 2}));
}

TEST(FractionalMaxPool2d, RefusesMismatchedArguments) {
  const Tensor x = randn({1, 2, 4, 4});
  const auto pool = [&](const FractionalMaxPool2dOptions& options) {
    return fractional_max_pool2d(x, options);
  };
  EXPECT_ERROR(InvalidArgument, "give output_size or output_ratio",
               pool({.kernel = 2}));
  EXPECT_ERROR(InvalidArgument, "give output_size or output_ratio",
               pool({.output_size = 2, .output_ratio = {0.5, 0.5}}));
  EXPECT_ERROR(InvalidArgument, "for each dimension",
               pool({.output_ratio = {0.5}}));
  EXPECT_ERROR(InvalidArgument, "between 0 and 1",
               pool({.output_ratio = {0.5, NAN}}));
  EXPECT_ERROR(InvalidArgument, "at most the image",
               pool({.kernel = 3, .output_size = 3}));
  EXPECT_ERROR(InvalidArgument, "positive",
               pool({.kernel = 0, .output_size = 3}));
  EXPECT_ERROR(InvalidArgument, "samples float64[1,1,2]",
               pool({.kernel = 2, .output_size = 2, .samples = sample()}));
}

}  // namespace
}  // namespace hvd
