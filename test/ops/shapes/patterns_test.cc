// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/shapes/patterns.h"

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::ElementsAre;

TEST(Eye, HasOnesOnItsDiagonal) {
  EXPECT_THAT(values(eye(2, 3, {.dtype = DType::kF64})),
              ElementsAre(1, 0, 0, 0, 1, 0));
  EXPECT_THAT(eye(2, {.dtype = DType::kI64}).to_vector<std::int64_t>(),
              ElementsAre(1, 0, 0, 1));
  EXPECT_EQ(eye(0).shape(), Dims({0, 0}));
  EXPECT_TRUE(eye(2, {.requires_grad = true}).requires_grad());
  EXPECT_ERROR(InvalidArgument, "eye: -1 elements", eye(-1));
}

TEST(Linspace, IncludesBothEnds) {
  EXPECT_THAT(values(linspace(-1, 1, 5, {.dtype = DType::kF64})),
              ElementsAre(-1, -0.5, 0, 0.5, 1));
  EXPECT_THAT(values(linspace(3, 9, 1, {.dtype = DType::kF64})),
              ElementsAre(3));
  EXPECT_EQ(linspace(0, 1, 0).shape(), Dims({0}));
  EXPECT_EQ(linspace(0, 0.7, 8).to_vector<float>().back(), 0.7F);
  EXPECT_THAT(
      linspace(0, 5, 4, {.dtype = DType::kI64}).to_vector<std::int64_t>(),
      ElementsAre(0, 1, 3, 5));
  EXPECT_ERROR(InvalidArgument, "linspace: -2 elements", linspace(0, 1, -2));
}

TEST(Logspace, RaisesItsBase) {
  EXPECT_THAT(values(logspace(0, 3, 4, 2, {.dtype = DType::kF64})),
              ElementsAre(1, 2, 4, 8));
}

TEST(TriangleIndices, NameTheElementsThatStay) {
  EXPECT_THAT(tril_indices(2, 3).to_vector<std::int64_t>(),
              ElementsAre(0, 1, 1, 0, 0, 1));
  EXPECT_THAT(triu_indices(2, 3, 1).to_vector<std::int64_t>(),
              ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_EQ(triu_indices(0, 3).shape(), Dims({2, 0}));
}

TEST(OneHot, PutsOnesAtItsLabels) {
  const Tensor labels = from_vector<std::int64_t>({2, 0}, {2});
  EXPECT_THAT(one_hot(labels).to_vector<std::int64_t>(),
              ElementsAre(0, 0, 1, 1, 0, 0));
  EXPECT_EQ(one_hot(labels, 5).shape(), Dims({2, 5}));
  EXPECT_ERROR(InvalidArgument, "label 2 is not one of 2 classes",
               one_hot(labels, 2));
  EXPECT_ERROR(InvalidArgument, "-1 classes",
               one_hot(zeros({0}, {.dtype = DType::kI64})));
  EXPECT_ERROR(InvalidArgument, "int64", one_hot(zeros({2})));
}

TEST(FullLike, HasTheShapeAndDtype) {
  const Tensor x = zeros({2, 1}, {.dtype = DType::kI64});
  EXPECT_THAT(full_like(x, 3).to_vector<std::int64_t>(), ElementsAre(3, 3));
  EXPECT_ERROR(InvalidArgument, "does not hold 0.5", full_like(x, 0.5));
  EXPECT_EQ(randn_like(zeros({2, 3})).shape(), Dims({2, 3}));
  EXPECT_EQ(rand_like(zeros({2, 3})).shape(), Dims({2, 3}));
}

}  // namespace
}  // namespace hvd
