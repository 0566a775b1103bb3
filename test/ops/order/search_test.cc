// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/order/search.h"

#include <cmath>

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> whole(const Tensor& tensor) {
  return tensor.to_vector<std::int64_t>();
}

TEST(Searchsorted, FindsPlacesInOneRowOrInEach) {
  const Tensor row = constant({1, 3, 3, 5}, {4});
  const Tensor x = constant({3, 0, 6, 4}, {2, 2});
  EXPECT_THAT(whole(searchsorted(row, x)), ElementsAre(1, 0, 4, 3));
  EXPECT_THAT(whole(searchsorted(row, x, true)), ElementsAre(3, 0, 4, 3));
  EXPECT_THAT(whole(bucketize(x, row)), ElementsAre(1, 0, 4, 3));
  const Tensor rows = constant({1, 2, 3, 10, 20, 30}, {2, 3});
  EXPECT_THAT(whole(searchsorted(rows, constant({2, 9, 2, 25}, {2, 2}))),
              ElementsAre(1, 3, 0, 2));
}

TEST(Searchsorted, PutsNanAfterNumbers) {
  const Tensor row = constant({1, 2}, {2});
  EXPECT_THAT(whole(searchsorted(row, constant({NAN}, {1}))), ElementsAre(2));
}

TEST(Searchsorted, RefusesMismatchedShapes) {
  EXPECT_ERROR(InvalidArgument, "searchsorted",
               searchsorted(ones({2, 3}), ones({3, 1})));
  EXPECT_ERROR(InvalidArgument, "bucketize",
               bucketize(ones({2}), ones({2, 2})));
  EXPECT_EQ(searchsorted(ones({0}), ones({2})).to_vector<std::int64_t>(),
            std::vector<std::int64_t>({0, 0}));
  EXPECT_EQ(searchsorted(ones({2}), ones({0, 3})).shape(),
            autograd::Dims({0, 3}));
}

TEST(Unique, GivesValuesInverseAndCounts) {
  const Tensor x = constant({5, 1, 5, 2, 1, 5}, {2, 3});
  const auto [found, inverse, counts] = unique(x);
  EXPECT_THAT(values(found), ElementsAre(1, 2, 5));
  EXPECT_THAT(whole(inverse), ElementsAre(2, 0, 2, 1, 0, 2));
  EXPECT_EQ(inverse.shape(), x.shape());
  EXPECT_THAT(whole(counts), ElementsAre(2, 1, 3));
  EXPECT_EQ(unique(constant({NAN, NAN, 1}, {3})).values.size(0), 3);
  EXPECT_EQ(unique(zeros({0})).counts.shape(), autograd::Dims({0}));
}

TEST(Bincount, CountsAndWeighs) {
  const Tensor x = from_vector<std::int64_t>({1, 3, 1}, {3});
  EXPECT_THAT(whole(bincount(x)), ElementsAre(0, 2, 0, 1));
  EXPECT_THAT(whole(bincount(x, {}, 6)), ElementsAre(0, 2, 0, 1, 0, 0));
  EXPECT_THAT(values(bincount(x, constant({0.5, 2, 1}, {3}))),
              ElementsAre(0, 1.5, 0, 2));
  EXPECT_ERROR(InvalidArgument, "-1 is negative",
               bincount(from_vector<std::int64_t>({-1}, {1})));
  EXPECT_ERROR(InvalidArgument, "integers", bincount(ones({2})));
  EXPECT_ERROR(InvalidArgument, "weights", bincount(x, ones({2})));
  EXPECT_THAT(whole(bincount(zeros({0}, {.dtype = DType::kI64}), {}, 2)),
              ElementsAre(0, 0));
}

TEST(Histc, CountsWithinItsBounds) {
  const Tensor x = constant({0, 1, 2, 3, 4, NAN, 9}, {7});
  EXPECT_THAT(values(histc(x, {.bins = 4, .min = 0, .max = 4})),
              ElementsAre(1, 1, 1, 2));
  EXPECT_THAT(values(histc(constant({1, 2, 5}, {3}), {.bins = 2})),
              ElementsAre(2, 1));
  EXPECT_ERROR(InvalidArgument, "not finite", histc(x, {.bins = 2}));
  EXPECT_ERROR(InvalidArgument, "bins", histc(x, {.bins = 0}));
}

}  // namespace
}  // namespace hvd
