// SPDX-License-Identifier: Apache-2.0
// Edges and errors of the operations on shapes; torch_shapes_test.cc has their
// values.
#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::ElementsAre;

Tensor counted(const Dims& shape) {
  return arange(0, static_cast<double>(shape.product())).view(shape);
}

TEST(Views, ShareTheMemoryOfTheirBase) {
  Tensor x = zeros({3, 3});
  diagonal(x).fill_(2.0);
  flatten(x).select(0, 1).fill_(5.0);
  unfold(x, 0, 1, 1).select(0, 2).select(1, 0).select(0, 0).fill_(7.0);
  EXPECT_THAT(values(x.to(DType::kF64)),
              ElementsAre(2, 5, 0, 0, 2, 0, 7, 0, 2));
}

TEST(Views, OfNothingAreEmpty) {
  EXPECT_EQ(diagonal(zeros({2, 3}), 9).shape(), Dims({0}));
  EXPECT_EQ(diagonal(zeros({2, 3}), INT64_MIN).shape(), Dims({0}));
  EXPECT_EQ(unfold(zeros({0, 2}), 0, 0, 1).shape(), Dims({1, 2, 0}));
  EXPECT_EQ(unfold(zeros({4}), 0, 2, INT64_MAX).shape(), Dims({1, 2}));
  EXPECT_EQ(flatten(zeros({0, 2})).shape(), Dims({0}));
  EXPECT_EQ(flatten(zeros({})).shape(), Dims({1}));
}

TEST(Views, RefuseWhatDoesNotFit) {
  const Tensor x = zeros({2, 6});
  EXPECT_ERROR(InvalidArgument, "do not multiply to 6",
               unflatten(x, 1, {4, -1}));
  EXPECT_ERROR(InvalidArgument, "do not multiply to 6",
               unflatten(x, 1, {-1, -1}));
  EXPECT_ERROR(InvalidArgument, "behind", flatten(x, 1, 0));
  EXPECT_ERROR(InvalidArgument, "named twice", diagonal(x, 0, 1, -1));
  EXPECT_ERROR(InvalidArgument, "named twice", movedim(x, {0, 0}, {0, 1}));
  EXPECT_ERROR(InvalidArgument, "do not fit", unfold(x, 1, 7, 1));
  EXPECT_ERROR(InvalidArgument, "do not fit", unfold(x, 1, 2, 0));
  EXPECT_ERROR(InvalidArgument, "0 parts", tensor_split(x, 0));
  EXPECT_ERROR(InvalidArgument, "no vector or scalar", meshgrid({x}));
}

TEST(Repeat, OfManyDimensionsWorksInSteps) {
  const Tensor x = counted({2, 2, 2, 2, 2});
  const Tensor y = repeat(x, {2, 2, 2, 2, 2});
  EXPECT_EQ(y.shape(), Dims({4, 4, 4, 4, 4}));
  EXPECT_EQ(y.index({3, 2, 1, 0, 3}).item<std::int64_t>(),
            x.index({1, 0, 1, 0, 1}).item<std::int64_t>());
  EXPECT_EQ(repeat(x, {1, 1, 1, 1, 0}).num_elements(), 0);
  EXPECT_ERROR(InvalidArgument, "repeat: [2]", repeat(x, {2}));
  EXPECT_ERROR(InvalidArgument, "-1 times", repeat_interleave(x, -1));
  EXPECT_ERROR(InvalidArgument, "do not go with 2 elements",
               repeat_interleave(x, zeros({3}, {.dtype = DType::kI64}), 0));
}

TEST(Triangles, OfAnyDtypeAndInPlace) {
  EXPECT_THAT(tril(counted({2, 3}), 0).to_vector<std::int64_t>(),
              ElementsAre(0, 0, 0, 3, 4, 0));
  EXPECT_THAT(triu(counted({2, 2}), INT64_MIN).to_vector<std::int64_t>(),
              ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(tril(counted({2, 2}), INT64_MAX).to_vector<std::int64_t>(),
              ElementsAre(0, 1, 2, 3));
  Tensor x = ones({3, 3}).t();
  triu_(x, 1);
  EXPECT_THAT(values(x.to(DType::kF64)),
              ElementsAre(0, 1, 1, 0, 0, 1, 0, 0, 0));
  EXPECT_ERROR(InvalidArgument, "not [..., rows, columns]", tril(ones({3})));
  EXPECT_ERROR(InvalidArgument, "too large", diag_embed(ones({3}), INT64_MIN));
}

TEST(Einsum, NamesTheMistake) {
  const Tensor x = zeros({2, 3});
  EXPECT_ERROR(InvalidArgument, "names 1 operands, not 2",
               einsum("ij", {x, x}));
  EXPECT_ERROR(InvalidArgument, "does not name the 2 dimensions",
               einsum("i", {x}));
  EXPECT_ERROR(InvalidArgument, "letters", einsum("i1", {x}));
  EXPECT_ERROR(InvalidArgument, "a letter twice", einsum("ij->ii", {x}));
  EXPECT_ERROR(InvalidArgument, "no operand has", einsum("ij->k", {x}));
  EXPECT_ERROR(InvalidArgument, "sizes 3 and 2", einsum("ij,jk", {x, x}));
  EXPECT_ERROR(InvalidArgument, "different sizes", einsum("ii", {x}));
  EXPECT_ERROR(InvalidArgument, "einsum", einsum("", {}));
}

TEST(Einsum, OfNothingIsZero) {
  const Tensor y = einsum("ij,jk->ik", {ones({2, 0}), ones({0, 2})});
  EXPECT_THAT(values(y.to(DType::kF64)), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(einsum(",->", {full({}, 2), full({}, 3)}).item<float>(), 6);
}

}  // namespace
}  // namespace hvd
