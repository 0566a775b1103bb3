// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/images/pools.h"

#include <gtest/gtest.h>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {
namespace {

void expect_equal(const Tensor& found, const Tensor& wanted) {
  EXPECT_EQ(found.shape(), wanted.shape());
  EXPECT_EQ(found.to_vector<float>(), wanted.to_vector<float>());
}

TEST(Pooling, IsTheOperationOfItsName) {
  const Tensor x = randn({2, 3, 7, 8}), deep = randn({1, 2, 4, 5, 6});
  const MaxPool2dOptions largest{.kernel = 3, .stride = 2, .padding = 1};
  expect_equal(MaxPool2d(largest)(x), max_pool2d(x, largest));
  expect_equal(MaxPool3d({.kernel = 2})(deep), max_pool3d(deep, {.kernel = 2}));
  const AvgPool2dOptions average{.kernel = {2, 3}, .ceil_mode = true};
  expect_equal(AvgPool2d(average)(x), avg_pool2d(x, average));
  expect_equal(AvgPool3d({.kernel = 2})(deep), avg_pool3d(deep, {.kernel = 2}));
  expect_equal(LPPool2d({.kernel = 2})(x), lp_pool2d(x, {.kernel = 2}));
  EXPECT_EQ(AdaptiveAvgPool2d({2, 1})(x).shape(), Shape({2, 3, 2, 1}));
  EXPECT_EQ(AdaptiveAvgPool3d(2)(deep).shape(), Shape({1, 2, 2, 2, 2}));
  EXPECT_EQ(AdaptiveMaxPool1d(3)(x.select(2, 0)).shape(), Shape({2, 3, 3}));
  expect_equal(AdaptiveMaxPool2d({3, 2})(x), adaptive_max_pool2d(x, {3, 2}));
}

TEST(FractionalMaxPool, IsTheOperationOfItsName) {
  const FractionalMaxPool3dOptions options{
      .kernel = 2, .output_size = 2, .samples = rand({2, 3, 3})};
  const Tensor x = randn({2, 3, 5, 4, 6});
  FractionalMaxPool3d pool(options);
  const auto [largest, places] = fractional_max_pool3d_with_indices(x, options);
  expect_equal(pool(x), largest);
  EXPECT_EQ(pool.run(x).indices.to_vector<std::int64_t>(),
            places.to_vector<std::int64_t>());
  EXPECT_EQ(FractionalMaxPool2d({.kernel = 2, .output_ratio = {0.5, 0.7}})(
                randn({3, 8, 8}))
                .shape(),
            Shape({3, 4, 5}));
}

TEST(MaxUnpool, TakesTheIndicesOfItsPool) {
  const Tensor x = rand({2, 3, 5, 4});
  const auto [y, places] = MaxPool2d({.kernel = 2}).run(x);
  const Tensor wide = MaxUnpool2d({.kernel = 2})(y, places, {5, 4});
  EXPECT_EQ(wide.shape(), x.shape());
  expect_equal(max_pool2d(wide, {.kernel = 2}), y);
  const auto rows = AdaptiveMaxPool1d(2).run(x.select(2, 0));
  expect_equal(MaxPool1d({.kernel = 2})(
                   MaxUnpool1d({.kernel = 2})(rows.values, rows.indices)),
               rows.values);
}

}  // namespace
}  // namespace hvd::nn
