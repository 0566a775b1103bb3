// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/shape_ops.h"

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::ElementsAre;

Tensor numbers(const Dims& shape) {
  return arange(0, static_cast<double>(shape.product())).view(shape);
}

TEST(Roll, HasItsDerivatives) {
  check_grid([](const Inputs& x) { return roll(x[0], {1}, {0}) * x[0]; },
             {{3, 2}});
  check_grid(
      [](const Inputs& x) {
        return roll(x[0], {-1, 2}, {1, 2}) * x[0];
      },
      {{2, 3, 4}});
}

TEST(Roll, ShiftsElementsAround) {
  EXPECT_THAT(roll(numbers({4}), {1}, {0}).to_vector<std::int64_t>(),
              ElementsAre(3, 0, 1, 2));
  EXPECT_THAT(roll(numbers({2, 3}), {-1, 7}, {0, 1}).to_vector<std::int64_t>(),
              ElementsAre(5, 3, 4, 2, 0, 1));
  EXPECT_THAT(roll(numbers({2, 2}), {1, 1}, {1, 1}).to_vector<std::int64_t>(),
              ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(roll(numbers({0, 2}), {1}, {0}).shape(), Dims({0, 2}));
  EXPECT_ERROR(InvalidArgument, "1 shifts for 2 dimensions",
               roll(numbers({2, 2}), {1}, {0, 1}));
}

TEST(Pad, HasItsDerivatives) {
  check_grid([](const Inputs& x) { return pad(x[0], {1, 2}) * 2.0; }, {{2, 3}});
  check_grid(
      [](const Inputs& x) {
        const Tensor y = pad(x[0], {-1, 1, 2, -1}, 3.0);
        return y * y;
      },
      {{2, 3, 4}});
}

TEST(Pad, PutsTheValueAroundAndCutsOff) {
  EXPECT_THAT(pad(numbers({2, 2}), {1, 0, 0, 1}, 9).to_vector<std::int64_t>(),
              ElementsAre(9, 0, 1, 9, 2, 3, 9, 9, 9));
  EXPECT_THAT(pad(numbers({2, 3}), {-1, -1}).to_vector<std::int64_t>(),
              ElementsAre(1, 4));
  // Every side of every dimension, some of them cut off.
  const Tensor x = numbers({2, 3, 4});
  const Tensor padded = pad(x, {2, 1, -1, 2, 1, 3}, 7);
  EXPECT_EQ(padded.shape(), Dims({6, 4, 7}));
  EXPECT_TRUE(all(eq(narrow(narrow(narrow(padded, 0, 1, 2), 1, 0, 2), 2, 2, 4),
                     narrow(x, 1, 1, 2)))
                  .item<bool>());
  EXPECT_EQ(sum(padded).item<std::int64_t>(),
            sum(narrow(x, 1, 1, 2)).item<std::int64_t>() +
                7 * (6 * 4 * 7 - 2 * 2 * 4));
  EXPECT_EQ(pad(numbers({2, 3}), {-1, -2}).shape(), Dims({2, 0}));
  EXPECT_ERROR(InvalidArgument, "more is cut off than there is",
               pad(numbers({2, 3}), {-2, -2}));
  EXPECT_ERROR(InvalidArgument, "more is cut off than there is",
               pad(numbers({2, 1}), {3, -2}));
  EXPECT_ERROR(InvalidArgument, "two per dimension", pad(numbers({2}), {1}));
  EXPECT_ERROR(InvalidArgument, "two per dimension",
               pad(numbers({2}), {1, 1, 1, 1}));
}

TEST(Flip, ReversesAndHasItsDerivatives) {
  EXPECT_THAT(flip(numbers({2, 3}), {0, 1}).to_vector<std::int64_t>(),
              ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(flip(numbers({2, 3}).t(), {-1}).to_vector<std::int64_t>(),
              ElementsAre(3, 0, 4, 1, 5, 2));
  EXPECT_EQ(flip(numbers({0, 2}), {0}).shape(), Dims({0, 2}));
  EXPECT_EQ(flip(full({}, 3), {0}).item<float>(), 3);
  EXPECT_ERROR(InvalidArgument, "flip: dimension -2 is named twice",
               flip(numbers({2, 3}), {0, -2}));
  check_grid([](const Inputs& x) { return flip(x[0], {1}) * x[0]; }, {{2, 3}});
}

}  // namespace
}  // namespace hvd
