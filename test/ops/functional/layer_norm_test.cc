// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "horovodpp/autograd/engine.h"
#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/thread/threads.h"
#include "horovodpp/ops/functional/norms.h"
#include "test/autograd/near.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;

struct LayerNormCase {
  const char* name;
  Dims x;
  Dims shape;
};

void PrintTo(const LayerNormCase& c, std::ostream* out) { *out << c.name; }

const LayerNormCase kLayerNormCases[] = {
    {"OneRow", {7}, {7}},           {"Rows", {3, 5}, {5}},
    {"OneColumn", {3, 1}, {1}},     {"Batches", {2, 3, 4}, {4}},
    {"TwoDims", {2, 3, 4}, {3, 4}}, {"LongRows", {2, 37}, {37}},
    {"ManyRows", {67, 3}, {3}},
};

class LayerNorm : public testing::TestWithParam<LayerNormCase> {
 protected:
  // Seeded: the tolerances do not hold for a row of nearly equal elements, which
  // some numbers have.
  LayerNorm() : shape_(GetParam().shape) {
    manual_seed(3);
    x_ = randn64(GetParam().x);
    weight_ = randn64(shape_);
    bias_ = randn64(shape_);
  }

  Dims shape_;
  Tensor x_;
  Tensor weight_;
  Tensor bias_;
};

TEST_P(LayerNorm, IsItsFormula) {
  Dims over;
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    over.push_back(-static_cast<std::int64_t>(d) - 1);
  }
  const Tensor off = x_ - x_.mean(over, true);
  const Tensor z = off / sqrt((off * off).mean(over, true) + 1e-5);
  expect_near(layer_norm(x_, shape_), z, 1e-13);
  expect_near(layer_norm(x_, shape_, weight_, bias_), z * weight_ + bias_,
              1e-13);
}

TEST_P(LayerNorm, HasItsFirstAndSecondDerivatives) {
  const auto run = [&](const std::vector<Tensor>& v) {
    return std::vector{layer_norm(v[0], shape_, v[1], v[2])};
  };
  autograd::gradcheck(run, {x_, weight_, bias_});
  autograd::gradgradcheck(run, {x_, weight_, bias_});
  const auto plain = [&](const std::vector<Tensor>& v) {
    return std::vector{layer_norm(v[0], shape_)};
  };
  autograd::gradcheck(plain, {x_});
  autograd::gradgradcheck(plain, {x_});
}

std::vector<Tensor> norm_and_gradients(const Tensor& x, const Tensor& w,
                                       const Tensor& b, const Tensor& grad) {
  std::vector<Tensor> leaves;
  for (const Tensor& t : {x, w, b}) {
    leaves.push_back(t.clone().set_requires_grad(true));
  }
  const Tensor y = layer_norm(leaves[0], w.shape(), leaves[1], leaves[2]);
  y.backward(grad);
  return {y, leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
}

TEST_P(LayerNorm, IsTheSameInTheNarrowerTypes) {
  struct Types {
    DType x, parameters;
    double tolerance;
  };
  for (const auto& t : {Types{DType::kF32, DType::kF32, 3e-6},
                        Types{DType::kBF16, DType::kBF16, 2e-2},
                        Types{DType::kBF16, DType::kF32, 2e-2},
                        Types{DType::kF16, DType::kF32, 2e-3}}) {
    const Tensor x = to(randn(GetParam().x) + 1.0, t.x);
    const Tensor grad = to(randn(GetParam().x), t.x);
    const Tensor w = to(weight_.detach(), t.parameters);
    const Tensor b = to(bias_.detach(), t.parameters);
    const auto found = norm_and_gradients(x, w, b, grad);
    const auto wide = [](const Tensor& v) { return to(v, DType::kF64); };
    const auto wanted =
        norm_and_gradients(wide(x), wide(w), wide(b), wide(grad));
    EXPECT_EQ(found[0].dtype(), t.x);
    EXPECT_EQ(found[2].dtype(), t.parameters);
    for (std::size_t i = 0; i < found.size(); ++i) {
      SCOPED_TRACE(i);
      // With one column, everything except the bias is 0, including the scale.
      if (shape_.product() > 1) expect_near(found[i], wanted[i], t.tolerance);
    }
  }
}

TEST_P(LayerNorm, TakesAnyLayout) {
  if (x_.dim() < 2) return;
  const Tensor turned = x_.transpose(0, 1).clone().transpose(0, 1);
  EXPECT_EQ(values(layer_norm(turned, shape_, weight_, bias_)),
            values(layer_norm(x_, shape_, weight_, bias_)));
}

INSTANTIATE_TEST_SUITE_P(Shapes, LayerNorm, testing::ValuesIn(kLayerNormCases),
                         [](const auto& shape) { return shape.param.name; });

TEST(LayerNorm, IsExactFarFromZero) {
  const Tensor x = randn({8, 1000}) + 1000.0;
  expect_near(layer_norm(x, {1000}), layer_norm(to(x, DType::kF64), {1000}),
              5e-5);
}

// y and the gradients of x, weight and bias.
std::vector<Tensor> results_of(const Tensor& x, const Tensor& grad,
                               DType parameters) {
  const std::int64_t n = x.size(-1);
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor weight =
      full({n}, 1.5, {.dtype = parameters, .requires_grad = true});
  const Tensor bias =
      full({n}, 0.5, {.dtype = parameters, .requires_grad = true});
  const Tensor y = layer_norm(leaf, {n}, weight, bias);
  y.backward(grad);
  return {y, leaf.grad(), weight.grad(), bias.grad()};
}

TEST(LayerNorm, ConvertsHalvesInPartsOnAnyNumberOfThreads) {
  for (const Dims& shape :
       {Dims{700, 515}, Dims{3, 40000}, Dims{2000, 33}, Dims{1, 17}}) {
    for (const DType dtype : {DType::kBF16, DType::kF16}) {
      SCOPED_TRACE(shape.to_string());
      const Tensor x = to(randn(shape) + 1.0, dtype);
      const Tensor grad = to(randn(shape), dtype);
      set_num_threads(1);
      const auto one = results_of(x, grad, DType::kF32);
      set_num_threads(3);
      const auto three = results_of(x, grad, DType::kF32);
      const auto wanted =
          results_of(to(x, DType::kF64), to(grad, DType::kF64), DType::kF64);
      for (std::size_t i = 0; i < one.size(); ++i) {
        SCOPED_TRACE(i);
        expect_near(three[i], one[i], 0.0);
        // The parameters' gradients are sums in float32.
        expect_near(one[i], wanted[i], i < 2 ? 2e-2 : 2e-3);
      }
    }
  }
}

TEST(LayerNorm, OfAnEmptyInputIsEmpty) {
  for (const auto& [x_shape, shape] : std::vector<std::pair<Dims, Dims>>{
           {{2, 0}, {0}}, {{2, 0, 3}, {0, 3}}, {{0, 3}, {3}}}) {
    SCOPED_TRACE(x_shape.to_string());
    for (const bool create_graph : {false, true}) {
      const Tensor x = randn64(x_shape), w = randn64(shape), b = randn64(shape);
      const Tensor y = layer_norm(x, shape, w, b);
      EXPECT_EQ(y.shape(), x_shape);
      const auto gradients = autograd::grad({y.sum()}, {x, w, b}, {},
                                            {.create_graph = create_graph});
      EXPECT_EQ(gradients[0].shape(), x_shape);
      for (const Tensor& g : {gradients[1], gradients[2]}) {
        EXPECT_EQ(g.shape(), shape);
        EXPECT_THAT(values(g), testing::Each(0));
      }
    }
  }
}

TEST(LayerNorm, RefusesMismatchedArguments) {
  const Tensor x = randn({2, 3, 4});
  EXPECT_ERROR(InvalidArgument, "normalized shape [3]", layer_norm(x, {3}));
  EXPECT_ERROR(InvalidArgument, "normalized shape []", layer_norm(x, {}));
  EXPECT_ERROR(InvalidArgument, "float32[2,3,4]", layer_norm(x, {1, 2, 3, 4}));
  EXPECT_ERROR(InvalidArgument, "float32[3]", layer_norm(x, {4}, randn({3})));
  EXPECT_ERROR(InvalidArgument, "float64[4]",
               layer_norm(x, {4}, {}, randn64({4})));
  EXPECT_ERROR(InvalidArgument, "floating point",
               layer_norm(to(x, DType::kI32), {4}));
}

}  // namespace
}  // namespace hvd
