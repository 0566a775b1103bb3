// SPDX-License-Identifier: Apache-2.0
// Distances, covariances, combinations, and products of integers: derivatives,
// both ways to compute distances, refusals. test/differential compares values
// with PyTorch's.
#include "horovodpp/ops/composed/distances.h"

#include <cstdint>
#include <limits>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using testing::ElementsAre;

Inputs two_by_three() {
  return {from_vector<double>({0.3, 2.1, -1.2, 0.9, 1.7, 0.1}, {2, 3}, true),
          from_vector<double>({1.3, 0.4, -0.2, 2.9, 0.7, 1.1}, {2, 3}, true)};
}

TEST(Distances, HaveFirstAndSecondDerivatives) {
  using Function = Tensor (*)(const Inputs&);
  for (const Function function : std::initializer_list<Function>{
           [](const Inputs& x) { return cdist(x[0], x[1], 2); },
           [](const Inputs& x) { return cdist(x[0], x[1], 3); },
           [](const Inputs& x) { return cross(x[0], x[1]); },
           [](const Inputs& x) { return cov(x[0]) + sum(x[1]); },
           [](const Inputs& x) {
             return cov(x[0],
                        {.fweights = from_vector<std::int64_t>({1, 3, 2}, {3}),
                         .aweights = exp(x[1].select(0, 0))});
           },
           [](const Inputs& x) {
             return gradient(x[0],
                             {.coordinates = {x[1].select(1, 0),
                                              exp(x[1].select(0, 0))}})[1];
           },
           [](const Inputs& x) {
             return gradient(
                 x[0] * x[1],
                 {.dims = {-1}, .spacing = {0.5}, .edge_order = 2})[0];
           },
           [](const Inputs& x) { return corrcoef(x[0]) * sum(x[1]); },
           [](const Inputs& x) {
             return cumulative_trapezoid(x[0] * x[1], 0.5, 1);
           }}) {
    const auto run = [&](const Inputs& x) { return Inputs{function(x)}; };
    autograd::gradcheck(run, two_by_three());
    autograd::gradgradcheck(run, two_by_three());
  }
}

TEST(Distances, OfManyRowsAreThoseOfFew) {
  manual_seed(5);
  const Tensor a = randn({30, 4}, {.dtype = DType::kF64});
  const Tensor b = randn({3, 4}, {.dtype = DType::kF64});
  const Tensor many = cdist(a, b);
  const auto wanted = values(cdist(narrow(a, 0, 0, 20), b));
  const auto found = values(narrow(many, 0, 0, 20).contiguous());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i], 1e-12);
  }
  const Tensor x = ones({30, 4}, {.requires_grad = true});
  cdist(x, x.detach()).sum().backward();
  EXPECT_EQ(sum(abs(x.grad())).item<float>(), 0);
}

TEST(Distances, RefuseWhatDoesNotFit) {
  EXPECT_THROW(cdist(ones({2, 3}), ones({2, 4})), InvalidArgument);
  EXPECT_THROW(cdist(ones({3}), ones({2, 3})), InvalidArgument);
  EXPECT_THROW(cross(ones({2}), ones({2})), InvalidArgument);
  EXPECT_THROW(cross(ones({3}), ones({2, 3})), InvalidArgument);
  EXPECT_THROW(cov(ones({1, 2, 3})), InvalidArgument);
  EXPECT_ERROR(InvalidArgument, "one each",
               cov(ones({2, 3}), {.fweights = ones({3})}));
  EXPECT_ERROR(InvalidArgument, "one each",
               cov(ones({2, 3}), {.aweights = ones({2})}));
  EXPECT_ERROR(InvalidArgument, "negative",
               cov(ones({2, 3}), {.aweights = -ones({3})}));
  EXPECT_ERROR(InvalidArgument, "sum to 0",
               cov(ones({2, 3}), {.aweights = zeros({3})}));
  EXPECT_THROW(combinations(ones({2, 2})), InvalidArgument);
  EXPECT_THROW(combinations(ones({2}), 0), InvalidArgument);
  EXPECT_THROW(unravel_index(ones({2}), {2, 3}), InvalidArgument);
  EXPECT_THROW(broadcast_shapes({{2}, {3}}), InvalidArgument);
}

// Squares have slopes that second-order differences find.
TEST(Gradient, IsExactForSquares) {
  const Tensor at = constant({0, 1, 3, 4, 8}, {5});
  const auto found = gradient(at * at, {.coordinates = {at}, .edge_order = 2});
  EXPECT_THAT(values(found[0]),
              testing::Pointwise(testing::DoubleNear(1e-12), values(at * 2.0)));
  const Tensor even = arange(0, 4).to(DType::kI64);
  EXPECT_THAT(values(to(gradient(even * even)[0], DType::kF64)),
              testing::ElementsAre(1, 2, 4, 5));
  EXPECT_ERROR(InvalidArgument, "more points", gradient(ones({2, 1})));
  EXPECT_ERROR(InvalidArgument, "for each dimension",
               gradient(ones({2, 3}), {.spacing = {1, 2, 3}}));
  EXPECT_ERROR(InvalidArgument, "repeated",
               gradient(ones({2, 3}), {.dims = {1, -1}}));
  EXPECT_ERROR(InvalidArgument, "edge_order is",
               gradient(ones({2}), {.edge_order = 3}));
  EXPECT_ERROR(InvalidArgument, "a number for each point",
               gradient(ones({2}), {.coordinates = {ones({3})}}));
}

TEST(Selections, ListCombinationsInOrder) {
  const Tensor x = arange(0, 3);
  EXPECT_THAT(combinations(x).to_vector<std::int64_t>(),
              ElementsAre(0, 1, 0, 2, 1, 2));
  EXPECT_THAT(combinations(x, 2, true).to_vector<std::int64_t>(),
              ElementsAre(0, 0, 0, 1, 0, 2, 1, 1, 1, 2, 2, 2));
  EXPECT_EQ(combinations(x, 4).shape(), (autograd::Dims{0, 4}));
  const std::int64_t many = std::int64_t{1} << 60;
  EXPECT_EQ(combinations(x, many).shape(), (autograd::Dims{0, many}));
  EXPECT_EQ(broadcast_shapes({{2, 1}, {3}, {}}), (autograd::Dims{2, 3}));
}

TEST(IntegerProducts, WrapAndKeepTheirDtype) {
  for (const DType dtype :
       {DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64}) {
    const Tensor a = to(arange(0, 6), dtype).view({2, 3});
    const Tensor b = to(arange(1, 7), dtype).view({3, 2});
    EXPECT_EQ(matmul(a, b).dtype(), dtype);
    EXPECT_THAT(to(matmul(a, b), DType::kI64).to_vector<std::int64_t>(),
                ElementsAre(13, 16, 40, 52));
    EXPECT_THAT(to(matmul(b.t(), a.t()), DType::kI64)
                    .contiguous()
                    .to_vector<std::int64_t>(),
                ElementsAre(13, 40, 16, 52));
  }
  const Tensor big = full({1, 1}, 200, {.dtype = DType::kU8});
  EXPECT_EQ(matmul(big, big).item<std::uint8_t>(), 40000 % 256);
  const Tensor batch = arange(0, 8).view({2, 2, 2});
  EXPECT_THAT(bmm(batch, batch).to_vector<std::int64_t>(),
              ElementsAre(2, 3, 6, 11, 46, 55, 66, 79));
  EXPECT_THAT(mv(select(batch, 0, 0), arange(1, 3)).to_vector<std::int64_t>(),
              ElementsAre(2, 8));
  EXPECT_EQ(dot(arange(0, 4), arange(0, 4)).item<std::int64_t>(), 14);
  EXPECT_EQ(matmul(zeros({2, 0}, {.dtype = DType::kI64}),
                   zeros({0, 2}, {.dtype = DType::kI64}))
                .num_elements(),
            4);
  const Tensor sums =
      addmm(ones({}, {.dtype = DType::kI64}), select(batch, 0, 0),
            select(batch, 0, 0), {.beta = 3, .alpha = 2});
  EXPECT_THAT(sums.to_vector<std::int64_t>(), ElementsAre(7, 9, 15, 25));
  EXPECT_THROW(addmm(sums, sums, sums, {.alpha = 0.5}), InvalidArgument);
  const Tensor truth = zeros({2, 2}, {.dtype = DType::kBool});
  EXPECT_THROW(matmul(truth, truth), InvalidArgument);
}

}  // namespace
}  // namespace hvd
