// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/indices/picks.h"

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using autograd::Dims;

// As in PyTorch.
TEST(Index, ReadsNoIndexOfAnEmptySelection) {
  const Tensor x = zeros({1, 3});
  const Tensor far = from_vector<std::int64_t>({0, 7}, {2});
  EXPECT_EQ(x.index({Slice(1, 1), far}).shape(), Dims({0, 2}));
  x.index_put_({Slice(1, 1), far}, 1.0);
  EXPECT_ERROR(InvalidArgument, "7 is not within dimension 1",
               x.index({Slice(), far}));
  EXPECT_ERROR(InvalidArgument, "0 is not within dimension 1",
               zeros({0, 0}).index({Slice(), far}));
}

}  // namespace
}  // namespace hvd
