// SPDX-License-Identifier: Apache-2.0
// Edges and errors of writes by indices and masks; torch_indices_test.cc has
// their values.
#include "horovodpp/core/error.h"
#include "horovodpp/core/thread/threads.h"
#include "horovodpp/ops.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::Each;
using testing::ElementsAre;

Tensor at(const std::vector<std::int64_t>& places) {
  return from_vector(places, {static_cast<std::int64_t>(places.size())});
}

TEST(Scatter, OfIntegersAndHalves) {
  const Tensor x = zeros({3}, {.dtype = DType::kI64});
  const Tensor source = from_vector<std::int64_t>({5, 6, -4}, {3});
  const auto reduced = [&](ScatterReduce reduce, bool include_self = true) {
    return scatter_reduce(x, 0, at({0, 0, 2}), source, reduce, include_self)
        .to_vector<std::int64_t>();
  };
  EXPECT_THAT(reduced(ScatterReduce::kMean), ElementsAre(3, 0, -2));
  EXPECT_THAT(reduced(ScatterReduce::kMean, false), ElementsAre(5, 0, -4));
  EXPECT_THAT(reduced(ScatterReduce::kMin, false), ElementsAre(5, 0, -4));
  EXPECT_THAT(reduced(ScatterReduce::kProd, false), ElementsAre(30, 0, -4));
  // Sums in float32: 2048 + 1 is no float16.
  const Tensor half = full({1}, 2048, {.dtype = DType::kF16});
  const Tensor ones_of_half = ones({4}, {.dtype = DType::kF16});
  scatter_add_(half, 0, at({0, 0, 0, 0}), ones_of_half);
  EXPECT_EQ(half.to(DType::kF32).item<float>(), 2052);
}

TEST(Scatter, WritesNothingIfAnIndexIsOutOfRange) {
  const Tensor x = zeros({3}, {.dtype = DType::kF64});
  const Tensor two = ones({2}, {.dtype = DType::kF64});
  EXPECT_ERROR(InvalidArgument, "index 3 is not within the 3 elements",
               scatter_(x, 0, at({0, 3}), two));
  EXPECT_ERROR(InvalidArgument, "index -1 is not within",
               scatter_add_(x, 0, at({0, -1}), two));
  EXPECT_ERROR(InvalidArgument, "3 is not within dimension 0",
               index_add_(x, 0, at({0, 3}), two));
  EXPECT_ERROR(InvalidArgument, "index_copy_: index -1 is negative",
               index_copy_(x, 0, at({0, -1}), two));
  EXPECT_ERROR(InvalidArgument, "-4 is not within dimension 0",
               index_fill_(x, 0, at({0, -4}), 1.0));
  EXPECT_ERROR(InvalidArgument, "-4 is not within dimension 0",
               put_(x, at({0, -4}), two));
  EXPECT_ERROR(
      InvalidArgument, "index 9 is not within the 6 elements",
      put_(zeros({2, 3}, {.dtype = DType::kF64}).t(), at({0, 9}), two));
  EXPECT_THAT(values(x), Each(0));
  EXPECT_EQ(x.version(), 0u);
}

TEST(Scatter, RefusesShapesThatDoNotFit) {
  const Tensor x = zeros({3});
  EXPECT_ERROR(InvalidArgument, "is smaller than the index",
               scatter(x, 0, at({0, 1}), zeros({1})));
  EXPECT_ERROR(InvalidArgument, "are no indices", scatter(x, 0, x, x));
  EXPECT_ERROR(InvalidArgument, "does not fill [2]",
               index_add(x, 0, at({0, 1}), zeros({3})));
  EXPECT_ERROR(InvalidArgument, "is not [n]",
               index_fill(x, 0, at({0, 1}).view({1, 2}), 1.0));
  EXPECT_ERROR(InvalidArgument, "3 elements for 2 indices",
               put(x, at({0, 1}), x));
  EXPECT_ERROR(
      InvalidArgument, "true at 3",
      masked_scatter(x, ones({3}, {.dtype = DType::kBool}), zeros({2})));
  EXPECT_ERROR(InvalidArgument, "bool", masked_select(x, x));
  EXPECT_ERROR(InvalidArgument, "is no scalar",
               masked_fill(x, ones({3}, {.dtype = DType::kBool}), x));
}

TEST(Scatter, TakesScalarsAndNothing) {
  const Tensor x = full({}, 3.0, {.dtype = DType::kF64});
  index_add_(x, 0, at({0}), ones({1}, {.dtype = DType::kF64}));
  EXPECT_EQ(value(x), 4);
  scatter_(x, 0, from_vector<std::int64_t>({0}, {}), 7.0);
  EXPECT_EQ(value(x), 7);
  EXPECT_EQ(masked_select(x, ones({2}, {.dtype = DType::kBool})).shape(),
            Dims({2}));
  EXPECT_EQ(take(zeros({0}), at({})).shape(), Dims({0}));
  EXPECT_EQ(index_add(zeros({2, 0}), 0, at({1}), zeros({1, 0})).shape(),
            Dims({2, 0}));
  EXPECT_EQ(scatter(zeros({0, 2}), 0, zeros({0, 2}, {.dtype = DType::kI64}),
                    zeros({0, 2}))
                .shape(),
            Dims({0, 2}));
}

TEST(TakeAlongDim, CountsNegativeIndicesFromTheEnd) {
  const Tensor x = from_vector<double>({1, 2, 3}, {3});
  EXPECT_THAT(values(take_along_dim(x, at({-1, 0, -3}), 0)),
              ElementsAre(3, 1, 1));
  EXPECT_ERROR(InvalidArgument, "is not within the 3 elements",
               take_along_dim(x, at({3}), 0));
  EXPECT_ERROR(InvalidArgument, "is not within the 3 elements",
               take_along_dim(x, at({-4}), 0));
}

TEST(Scatter, ReadsASourceThatSharesItsMemoryFirst) {
  const Tensor x = from_vector<double>({1, 2, 3}, {3});
  scatter_(x, 0, at({1, 2, 0}), x);
  EXPECT_THAT(values(x), ElementsAre(3, 1, 2));
  index_add_(x, 0, at({1, 2, 0}), x);
  EXPECT_THAT(values(x), ElementsAre(5, 4, 3));
}

// Large enough for several threads.
TEST(Scatter, AddsInTheOrderOfTheIndexWithAnyThreads) {
  const Tensor x = zeros({100, 700}, {.dtype = DType::kF64});
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < 300; ++i) rows.push_back(i * 7 % 100);
  const Tensor source =
      arange(0, 300.0 * 700, 1, {.dtype = DType::kF64}).view({300, 700});
  const Tensor by_slices = index_add(x, 0, at(rows), source);
  const Tensor index = at(rows).view({300, 1}).expand({300, 700});
  const Tensor by_elements = scatter_add(x, 0, index, source);
  EXPECT_EQ(by_slices.to_vector<double>(), by_elements.to_vector<double>());
  EXPECT_EQ(sum(by_slices).item<double>(), sum(source).item<double>());
}

}  // namespace
}  // namespace hvd
