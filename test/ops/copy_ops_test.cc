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

}  // namespace
}  // namespace hvd
