// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/sampling/unpools.h"

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/images/images.h"
#include "test/autograd/near.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::ElementsAre;

TEST(MaxUnpool, IsTheInverseOfAPool) {
  const Tensor x = constant({1, 2, 3, 4, 8, 7, 6, 5}, {1, 1, 2, 4});
  const auto [y, places] = max_pool2d_with_indices(x, {.kernel = 2});
  const Tensor wide = max_unpool2d(y, places, {.kernel = 2});
  EXPECT_EQ(wide.shape(), x.shape());
  EXPECT_THAT(values(wide), ElementsAre(0, 0, 0, 0, 8, 0, 6, 0));
  EXPECT_EQ(
      max_unpool2d(y, places, {.kernel = 2, .output_size = {3, 5}}).shape(),
      Dims({1, 1, 3, 5}));
}

TEST(MaxUnpool, HasItsFirstAndSecondDerivatives) {
  const auto run = [](const std::vector<Tensor>& v) {
    const auto [y, places] =
        max_pool3d_with_indices(v[0], {.kernel = 2, .padding = {1, 0, 0}});
    const Tensor wide = max_unpool3d(
        y, places,
        {.kernel = 2, .padding = {1, 0, 0}, .output_size = {3, 4, 2}});
    return std::vector{wide * wide};
  };
  const Tensor x = randn64({2, 2, 3, 4, 2});
  autograd::gradcheck(run, {x});
  autograd::gradgradcheck(run, {x});
}

TEST(MaxUnpool, TakesImagesThatLieAnyhow) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    const Tensor x = to(randn({2, 3, 4, 4}), dtype);
    const auto [y, places] = max_pool2d_with_indices(x, {.kernel = 2});
    const Tensor wide = max_unpool2d(y, places, {.kernel = 2});
    EXPECT_EQ(wide.dtype(), dtype);
    EXPECT_EQ(values(to(max_unpool2d(y.contiguous(), places.contiguous(),
                                     {.kernel = 2}),
                        DType::kF64)),
              values(to(wide, DType::kF64)));
    EXPECT_EQ(values(to(max_pool2d(abs(wide), {.kernel = 2}), DType::kF64)),
              values(to(abs(y), DType::kF64)));
  }
}

TEST(MaxUnpool, RefusesMismatchedArguments) {
  const Tensor y = randn({1, 1, 2});
  const Tensor places = constant({0, 3}, {1, 1, 2}).to(DType::kI64);
  EXPECT_ERROR(InvalidArgument, "int64", max_unpool1d(y, y, {.kernel = 2}));
  EXPECT_ERROR(InvalidArgument, "undefined",
               max_unpool1d(y, Tensor(), {.kernel = 2}));
  EXPECT_ERROR(InvalidArgument, "less than a stride",
               max_unpool1d(y, places, {.kernel = 2, .output_size = 6}));
  EXPECT_ERROR(InvalidArgument, "less than a stride",
               max_unpool1d(y, places, {.kernel = 2, .padding = 2}));
  EXPECT_ERROR(InvalidArgument, "not within",
               max_unpool1d(y, places, {.kernel = 2, .output_size = 3}));
  EXPECT_ERROR(InvalidArgument, "positive",
               max_unpool1d(y, places, {.kernel = 0}));
}

TEST(LPPool, IsTheRootOfTheSumOfPowers) {
  const Tensor x = constant({3, 4, 6, 8}, {1, 1, 4});
  EXPECT_THAT(values(lp_pool1d(x, {.kernel = 2})), ElementsAre(5, 10));
  const auto run = [](const std::vector<Tensor>& v) {
    return std::vector{lp_pool3d(v[0], {.power = 3, .kernel = {1, 2, 2}})};
  };
  const Tensor deep =
      (abs(randn64({1, 2, 2, 2, 4})) + 0.5).detach().set_requires_grad(true);
  autograd::gradcheck(run, {deep});
  autograd::gradgradcheck(run, {deep});
}

}  // namespace
}  // namespace hvd
