// SPDX-License-Identifier: Apache-2.0
// Products for every rank and layout.
#include <cmath>

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::ElementsAre;

Tensor product_of(const Inputs& x) { return matmul(x[0], x[1]); }

struct Factors {
  Dims a, b, result;
};

const Factors kFactors[] = {
    {{3}, {3}, {}},
    {{3}, {3, 2}, {2}},
    {{2, 3}, {3}, {2}},
    {{2, 3}, {3, 4}, {2, 4}},
    {{1, 3}, {3, 1}, {1, 1}},
    {{2, 3, 4}, {4}, {2, 3}},
    {{2, 3, 4}, {4, 2}, {2, 3, 2}},
    {{4}, {2, 4, 3}, {2, 3}},
    {{3, 4}, {2, 4, 2}, {2, 3, 2}},
    {{2, 3, 4}, {2, 4, 2}, {2, 3, 2}},
    {{2, 1, 2, 3}, {3, 3, 2}, {2, 3, 2, 2}},
    {{1, 2, 3}, {2, 3, 1}, {2, 2, 1}},
};

TEST(Matmul, OfEveryRankHasItsDerivatives) {
  for (const Factors& pair : kFactors) {
    SCOPED_TRACE(pair.a.to_string() + pair.b.to_string());
    EXPECT_EQ(matmul(ones(pair.a), ones(pair.b)).shape(), pair.result);
    check_grid(product_of, {pair.a, pair.b});
  }
}

TEST(Matmul, FollowsItsDefinitionForAllShapes) {
  for (const Factors& pair : kFactors) {
    const Tensor a = randn64(pair.a).detach();
    const Tensor b = randn64(pair.b).detach();
    Tensor left = a.dim() == 1 ? unsqueeze(a, 0) : a;
    Tensor right = b.dim() == 1 ? unsqueeze(b, 1) : b;
    // The definition: a product with one dimension per index, summed.
    Tensor expected = sum(unsqueeze(left, -1) * unsqueeze(right, -3), {-2});
    const auto got = values(matmul(a, b));
    const auto wanted = values(expected);
    ASSERT_EQ(got.size(), wanted.size()) << pair.a.to_string();
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], wanted[i], 1e-12) << pair.a.to_string();
    }
  }
}

TEST(Matmul, OfHeadsNeedsNoCopy) {
  const Tensor x = randn64({2, 5, 3, 4});
  const Tensor heads = x.permute({0, 2, 1, 3});
  const auto before = autograd::cpu_allocator().stats().current_bytes;
  const Tensor scores = matmul(heads.detach(), heads.detach().transpose(2, 3));
  const auto after = autograd::cpu_allocator().stats().current_bytes;
  EXPECT_EQ(scores.shape(), Dims({2, 3, 5, 5}));
  EXPECT_EQ(after - before, static_cast<std::int64_t>(scores.bytes()));
}

TEST(Matmul, OfEmptyOperandsIsZeroOrEmpty) {
  EXPECT_EQ(matmul(ones({2, 3, 0}), ones({2, 0, 4})).to_vector<float>(),
            std::vector<float>(24, 0.0f));
  EXPECT_EQ(matmul(ones({0, 3, 2}), ones({0, 2, 4})).shape(), Dims({0, 3, 4}));
  EXPECT_EQ(matmul(ones({0}), ones({0})).item<float>(), 0.0f);
}

TEST(Matmul, NamesShapesThatDoNotMultiply) {
  EXPECT_ERROR(InvalidArgument, "matmul: shapes [3] and [2,3]",
               matmul(ones({3}), ones({2, 3})));
  EXPECT_ERROR(InvalidArgument, "[] and [2]", matmul(ones({}), ones({2})));
  EXPECT_ERROR(InvalidArgument, "matmul: shapes [2] and [3]",
               matmul(ones({2, 2, 3}), ones({3, 3, 2})));
  EXPECT_ERROR(InvalidArgument, "bmm: shapes [2,3] and",
               bmm(ones({2, 3}), ones({3, 2})));
  EXPECT_ERROR(InvalidArgument, "differ in dtype",
               matmul(ones({2, 2}), ones64({2, 2})));
}

TEST(Matmul, OfHalvesIsAddedUpInFloat) {
  for (DType dtype : {DType::kBF16, DType::kF16}) {
    const Tensor a = full({2, 1, 3000}, 1, {.dtype = dtype});
    const Tensor y = matmul(a, a.transpose(1, 2));
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_NEAR(y.to(DType::kF32).to_vector<float>()[1], 3000, 8);
  }
}

TEST(Bmm, HasItsDerivatives) {
  check_grid([](const Inputs& x) { return bmm(x[0], x[1]); },
             {{2, 3, 4}, {2, 4, 2}});
}

TEST(Addmm, RefusesUnbroadcastableOperandsEvenWithBetaZero) {
  EXPECT_THROW(
      addmm(ones({3}), ones({2, 4}), ones({4, 2}), {.beta = 0.0, .alpha = 1.0}),
      InvalidArgument);
}

TEST(Addmm, AddsAProductToABroadcastOperand) {
  const auto run = [](const Inputs& x) {
    return addmm(x[0], x[1], x[2], {.beta = 0.5, .alpha = -2.0});
  };
  for (const Dims& shape : {Dims({2, 4}), Dims({4}), Dims({2, 1}), Dims()}) {
    check_grid(run, {shape, {2, 3}, {3, 4}});
  }
  const Tensor x = full({2}, NAN);
  EXPECT_THAT(
      addmm(x, ones({1, 3}), ones({3, 2}), {.beta = 0}).to_vector<float>(),
      ElementsAre(3, 3));
  EXPECT_ERROR(InvalidArgument, "does not broadcast",
               addmm(ones({3}), ones({1, 3}), ones({3, 2})));
  EXPECT_ERROR(InvalidArgument, "are not [m, k]",
               addmm(ones({2}), ones({3}), ones({3, 2})));
}

TEST(Linear, TakesAVectorAsWeight) {
  const auto run = [](const Inputs& x) { return linear(x[0], x[1]); };
  for (const Dims& shape : {Dims({3}), Dims({4, 3}), Dims({2, 2, 3})}) {
    check_grid(run, {shape, {3}});
  }
  const Tensor x = ones64({2, 3}), w = constant({1, 2, 3}, {3});
  EXPECT_THAT(values(linear(x, w)), ElementsAre(6, 6));
  EXPECT_EQ(value(linear(w, w, constant(1))), 15);
  EXPECT_ERROR(InvalidArgument, "as weight and bias [1]",
               linear(w, w, constant({1}, {1})));
  EXPECT_ERROR(InvalidArgument, "[2,3] does not go with the vector [3]",
               linear(x, w, constant(1)));
  EXPECT_ERROR(InvalidArgument, "does not go with the vector [2]",
               linear(x, ones64({2})));
  EXPECT_ERROR(InvalidArgument, "differ in dtype", linear(x, ones({3})));
}

TEST(Linear, HasItsDerivatives) {
  const auto run = [](const Inputs& x) { return linear(x[0], x[1], x[2]); };
  for (const Dims& shape : {Dims({3}), Dims({4, 3}), Dims({2, 2, 3})}) {
    check_grid(run, {shape, {2, 3}, {2}});
  }
}

}  // namespace
}  // namespace hvd
