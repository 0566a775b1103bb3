// SPDX-License-Identifier: Apache-2.0
// Refusals, empty tensors and derivatives of ops/composed. The random programs
// and PyTorch's operator database compare the values.
#include <gtest/gtest.h>

#include <vector>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "horovodpp/tensor/factories.h"
#include "test/autograd/near.h"

namespace hvd {
namespace {

Tensor random(const autograd::Dims& shape) {
  return randn(shape, {.dtype = DType::kF64, .requires_grad = true});
}

void expect_two_derivatives(const autograd::DifferentiableFunction& function,
                            const std::vector<Tensor>& inputs) {
  autograd::gradcheck(function, inputs);
  autograd::gradgradcheck(function, inputs);
}

TEST(ComposedOps, HaveTwoDerivatives) {
  expect_two_derivatives(
      [](const std::vector<Tensor>& x) {
        const SpreadResult r = var_mean(x[0], {1});
        return std::vector<Tensor>{r.spread,         r.mean,
                                   normalize(x[0]),  trapezoid(x[0], 0.5, 0),
                                   dist(x[0], x[1]), kron(x[0], x[1]),
                                   inner(x[0], x[1])};
      },
      {random({3, 4}), random({3, 4})});
  expect_two_derivatives(
      [](const std::vector<Tensor>& x) {
        return std::vector<Tensor>{
            select_scatter(x[0], x[1], 1, -1),
            slice_scatter(x[0], x[2], 0, 1, 3),
            diagonal_scatter(x[0], x[1]),
            block_diag({x[0], x[1]}),
            addmv(x[1], x[0], x[1], {.beta = 0.5, .alpha = 2}),
            addr(x[0], x[1], x[1]),
            matrix_trace(x[0])};
      },
      {random({3, 3}), random({3}), random({2, 3})});
  expect_two_derivatives(
      [](const std::vector<Tensor>& x) {
        return std::vector<Tensor>{addbmm(x[0], x[1], x[2])};
      },
      {random({3, 2}), random({2, 3, 4}), random({2, 4, 2})});
}

TEST(ComposedOps, KeepTheGivenTensor) {
  const Tensor x = zeros({2, 3});
  const Tensor y = select_scatter(x, ones({3}), 0, 1);
  expect_near(x, zeros({2, 3}), 0);
  expect_near(y, cat({zeros({1, 3}), ones({1, 3})}), 0);
}

TEST(ComposedOps, TakeEmptyTensors) {
  EXPECT_EQ(kron(zeros({0, 2}), zeros({3, 2})).shape(), Shape({0, 4}));
  EXPECT_EQ(block_diag({zeros({0}), ones({2, 1})}).shape(), Shape({3, 1}));
  EXPECT_EQ(trapezoid(zeros({2, 0}), 1, 1).shape(), Shape({2}));
  EXPECT_EQ(matrix_trace(zeros({0, 3})).item<float>(), 0);
  EXPECT_EQ(addbmm(ones({2, 3}), zeros({0, 2, 4}), zeros({0, 4, 3})).shape(),
            Shape({2, 3}));
  EXPECT_EQ(hsplit(zeros({2, 0}), 2).size(), 2);
}

TEST(ComposedOps, RefuseShapesThatDoNotFit) {
  const Tensor m = zeros({2, 3});
  EXPECT_THROW(matrix_trace(zeros({3})), InvalidArgument);
  EXPECT_THROW(inner(m, zeros({2})), InvalidArgument);
  EXPECT_THROW(kron(zeros({1, 1, 1, 1, 1}), m), InvalidArgument);
  EXPECT_THROW(addmv(zeros({2}), m, zeros({2})), InvalidArgument);
  EXPECT_THROW(addr(m, m, zeros({3})), InvalidArgument);
  EXPECT_THROW(addbmm(m, zeros({2, 2, 3}), zeros({1, 3, 3})), InvalidArgument);
  EXPECT_THROW(hsplit(m, 2), InvalidArgument);
  EXPECT_THROW(vsplit(m, 0), InvalidArgument);
  EXPECT_THROW(vsplit(zeros({2}), 1), InvalidArgument);
  EXPECT_THROW(dsplit(m, 1), InvalidArgument);
  EXPECT_THROW(block_diag({}), InvalidArgument);
  EXPECT_THROW(block_diag({zeros({1, 1, 1})}), InvalidArgument);
  EXPECT_THROW(cartesian_prod({m}), InvalidArgument);
  EXPECT_THROW(cartesian_prod({}), InvalidArgument);
  EXPECT_THROW(select_scatter(m, zeros({2}), 0, 0), InvalidArgument);
  EXPECT_THROW(diagonal_scatter(m, zeros({3})), InvalidArgument);
  EXPECT_THROW(ravel(Tensor()), InvalidArgument);
  EXPECT_THROW(normalize(m, {.dim = 2}), InvalidArgument);
}

}  // namespace
}  // namespace hvd
