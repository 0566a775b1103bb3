// SPDX-License-Identifier: Apache-2.0
// Copies between layouts.
#include "horovodpp/ops.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;

TEST(Copy, BetweenAnyTwoOrdersOfDimensions) {
  for (const Dims& shape :
       {Dims({3, 40, 70}), Dims({9, 8, 33}), Dims({2, 0, 9}), Dims({1, 64, 8}),
        Dims({40, 2, 70})}) {
    for (const Dims& order : {Dims({0, 2, 1}), Dims({1, 0, 2}), Dims({1, 2, 0}),
                              Dims({2, 0, 1}), Dims({2, 1, 0})}) {
      const Tensor x =
          arange(0, static_cast<double>(shape.product())).view(shape);
      const Tensor moved = x.permute(order);
      for (DType dtype : {DType::kI64, DType::kF32}) {
        const Tensor copy = to(moved, dtype).clone();
        Dims back = order;
        for (std::size_t d = 0; d < 3; ++d) {
          back[static_cast<std::size_t>(order[d])] =
              static_cast<std::int64_t>(d);
        }
        EXPECT_EQ(to(copy.permute(back).clone(), DType::kI64)
                      .to_vector<std::int64_t>(),
                  x.to_vector<std::int64_t>())
            << shape.to_string() << order.to_string();
      }
    }
  }
}

// Matrices that are no multiple of a tile, and several of them.
TEST(Contiguous, TransposesMatricesOfEveryWidth) {
  const std::vector<autograd::Dims> shapes = {
      {64, 32}, {32, 64}, {37, 70}, {8, 9}, {3, 40, 50}, {2, 3, 33, 65}};
  for (const DType dtype :
       {DType::kF32, DType::kI32, DType::kF64, DType::kI64, DType::kBF16}) {
    for (const autograd::Dims& shape : shapes) {
      const Tensor x =
          reshape(arange(0, static_cast<double>(shape.product())), shape)
              .to(dtype);
      const std::int64_t rows = x.size(-2), columns = x.size(-1);
      const auto from = x.to(DType::kF64).to_vector<double>();
      const auto to =
          transpose(x, -2, -1).contiguous().to(DType::kF64).to_vector<double>();
      ASSERT_EQ(to.size(), from.size());
      for (std::int64_t i = 0; i < x.num_elements(); ++i) {
        const std::int64_t matrix = i / (rows * columns) * rows * columns;
        const std::int64_t r = i % (rows * columns) / columns;
        const std::int64_t at = matrix + i % columns * rows + r;
        ASSERT_EQ(to[static_cast<std::size_t>(at)],
                  from[static_cast<std::size_t>(i)])
            << shape.to_string() << ' ' << i;
      }
    }
  }
}

}  // namespace
}  // namespace hvd
