// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/order/order_ops.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "horovodpp/core/error.h"
#include "horovodpp/core/thread/threads.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> indices(const Tensor& tensor) {
  return tensor.to_vector<std::int64_t>();
}

TEST(Sort, OrdersAlongADimensionAndKeepsEqualElementsInOrder) {
  const Tensor x = constant({3, 1, 2, 1, 1, 0}, {2, 3});
  const auto [rows, places] = sort(x);
  EXPECT_THAT(values(rows), ElementsAre(1, 2, 3, 0, 1, 1));
  EXPECT_THAT(indices(places), ElementsAre(1, 2, 0, 2, 0, 1));
  EXPECT_THAT(indices(argsort(x, {.descending = true})),
              ElementsAre(0, 2, 1, 0, 1, 2));
  EXPECT_THAT(values(sort(x, {.dim = 0}).values),
              ElementsAre(1, 1, 0, 3, 1, 2));
  EXPECT_THAT(indices(argsort(transpose(x, 0, 1), {.dim = 0})),
              ElementsAre(1, 2, 2, 0, 0, 1));
}

TEST(Sort, PutsNanLastAndTreatsZerosAsEqual) {
  const double inf = INFINITY;
  const Tensor x = constant({0.0, NAN, -inf, -0.0, inf, -1}, {6});
  EXPECT_THAT(indices(argsort(x)), ElementsAre(2, 5, 0, 3, 4, 1));
  EXPECT_THAT(indices(argsort(x, {.descending = true})),
              ElementsAre(1, 4, 0, 3, 5, 2));
  EXPECT_TRUE(std::signbit(values(sort(x).values)[3]));
}

TEST(Sort, OrdersEveryDtype) {
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,
        DType::kI16, DType::kI32, DType::kI64}) {
    const Tensor x = constant({2, -3, 0, 5, -3}, {5}).to(dtype);
    EXPECT_THAT(values(sort(x).values.to(DType::kF64)),
                ElementsAre(-3, -3, 0, 2, 5));
  }
  EXPECT_THAT(indices(argsort(constant({1, 0, 1}, {3}).to(DType::kBool))),
              ElementsAre(1, 0, 2));
  EXPECT_THAT(indices(argsort(constant({200, 7}, {2}).to(DType::kU8))),
              ElementsAre(1, 0));
}

// Long rows take another way than short ones.
TEST(Sort, EqualsAStableSortOfLongRowsOnAnyNumberOfThreads) {
  manual_seed(1);
  const Tensor x = round(randn({7, 30000}) * 1000.0);
  const auto all = x.to_vector<float>();
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kI64}) {
      const auto found = indices(argsort(x.to(dtype)));
      for (std::int64_t r = 0; r < 7; ++r) {
        std::vector<std::int64_t> wanted(30000);
        std::iota(wanted.begin(), wanted.end(), 0);
        std::stable_sort(wanted.begin(), wanted.end(), [&](auto a, auto b) {
          return all[static_cast<std::size_t>(r * 30000 + a)] <
                 all[static_cast<std::size_t>(r * 30000 + b)];
        });
        ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(),
                               found.begin() + r * 30000));
      }
    }
  }
  set_num_threads(1);
}

TEST(Sort, HasItsDerivatives) {
  for (const std::int64_t dim : {0, -1}) {
    check_grid(
        [dim](const Inputs& x) {
          const Tensor y = sort(x[0], {.dim = dim, .descending = true}).values;
          return y * y * x[0];
        },
        {{3, 4}}, {.repeated = false});
    check_grid(
        [dim](const Inputs& x) {
          const Tensor y = topk(x[0], 2, {.dim = dim}).values;
          return y * y;
        },
        {{3, 4}}, {.repeated = false});
    check_grid(
        [dim](const Inputs& x) {
          const Tensor y = kthvalue(x[0], 2, {.dim = dim}).values;
          return y * y;
        },
        {{3, 4}}, {.repeated = false});
  }
}

TEST(Topk, FindsTheLargestOrSmallestInOrder) {
  const Tensor x = constant({4, 9, 1, 9, NAN, 7}, {6});
  EXPECT_THAT(indices(topk(x, 3).indices), ElementsAre(4, 1, 3));
  EXPECT_THAT(indices(topk(x, 3, {.largest = false}).indices),
              ElementsAre(2, 0, 5));
  EXPECT_EQ(topk(x, 0).values.shape(), autograd::Dims({0}));
  EXPECT_EQ(value(topk(constant(3), 1).values), 3);
}

TEST(Topk, EqualsTheBeginningOfASortedRow) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32}) {
    // Few different values, so that many are equal.
    Tensor x = to(floor(randn({5, 999}) * 3.0), dtype);
    if (dtype != DType::kI32) x.select(0, 2).select(0, 500).fill_(NAN);
    for (const bool largest : {true, false}) {
      const SortResult sorted = sort(x, {.descending = largest});
      for (const std::int64_t k : {1, 2, 17, 62, 63, 999}) {
        const SortResult found = topk(x, k, {.largest = largest});
        EXPECT_TRUE(all(eq(found.indices, narrow(sorted.indices, 1, 0, k)))
                        .item<bool>())
            << k << largest;
      }
    }
  }
}

TEST(Kthvalue, CountsFromOne) {
  const Tensor x = constant({4, 9, 1, 3, 8, 2}, {2, 3});
  const auto [values_of, places] = kthvalue(x, 2);
  EXPECT_THAT(values(values_of), ElementsAre(4, 3));
  EXPECT_THAT(indices(places), ElementsAre(0, 0));
  EXPECT_EQ(kthvalue(x, 1, {.dim = 0, .keepdim = true}).values.shape(),
            autograd::Dims({1, 3}));
}

TEST(Order, RefusesMissingElementsAndTakesEmptyTensors) {
  const Tensor x = constant({1, 2}, {2});
  EXPECT_ERROR(InvalidArgument, "topk: k is 3", topk(x, 3));
  EXPECT_ERROR(InvalidArgument, "topk: k is -1", topk(x, -1));
  EXPECT_ERROR(InvalidArgument, "kthvalue: k is 0", kthvalue(x, 0));
  EXPECT_ERROR(InvalidArgument, "sort", sort(x, {.dim = 1}));
  EXPECT_ERROR(InvalidArgument, "sort", sort(Tensor()));
  EXPECT_EQ(sort(zeros({3, 0})).indices.shape(), autograd::Dims({3, 0}));
  EXPECT_EQ(sort(zeros({0, 3})).indices.shape(), autograd::Dims({0, 3}));
  EXPECT_EQ(kthvalue(zeros({0, 3}), 1).values.shape(), autograd::Dims({0}));
  EXPECT_EQ(value(sort(leaf(3)).values), 3);
}

}  // namespace
}  // namespace hvd
