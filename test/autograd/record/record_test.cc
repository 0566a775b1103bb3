// SPDX-License-Identifier: Apache-2.0
// Results of operations are tensors of their own in the graph, unless they are
// views.
#include "horovodpp/autograd/record/record.h"

#include <functional>
#include <vector>

#include "horovodpp/autograd/engine.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/ops.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/factories.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

struct Case {
  const char* name;
  std::function<Tensor(const Tensor&)> run;  // Of x [2, 3, 4, 5].
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Tensor first_row(const Tensor& x) { return x.select(0, 0).select(0, 0); }
Tensor first(const Tensor& x) { return first_row(x).select(0, 0).select(0, 0); }
Tensor numbers(const std::vector<std::int64_t>& all, const autograd::Dims& d) {
  return from_vector<std::int64_t>(all, d);
}
Tensor yes(const Tensor& x) { return gt(x.detach(), -100.0); }

const Case kCases[] = {
    {"Add", [](const Tensor& x) { return x + x; }},
    {"Sub", [](const Tensor& x) { return x - x; }},
    {"Mul", [](const Tensor& x) { return x * x; }},
    {"Div", [](const Tensor& x) { return x / (x * x + 1.0); }},
    {"AddScalar", [](const Tensor& x) { return x + 1.0; }},
    {"MulScalar", [](const Tensor& x) { return x * 2.0; }},
    {"Neg", [](const Tensor& x) { return -x; }},
    {"Exp", [](const Tensor& x) { return exp(x); }},
    {"Log", [](const Tensor& x) { return log(x * x + 1.0); }},
    {"Relu", [](const Tensor& x) { return relu(x); }},
    {"Pow", [](const Tensor& x) { return pow(x, 2.0); }},
    {"Sqrt", [](const Tensor& x) { return sqrt(x * x + 1.0); }},
    {"Sin", [](const Tensor& x) { return sin(x); }},
    {"Cos", [](const Tensor& x) { return cos(x); }},
    {"Tanh", [](const Tensor& x) { return tanh(x); }},
    {"Sigmoid", [](const Tensor& x) { return sigmoid(x); }},
    {"Erf", [](const Tensor& x) { return erf(x); }},
    {"Gelu", [](const Tensor& x) { return gelu(x); }},
    {"Abs", [](const Tensor& x) { return abs(x); }},
    {"Clamp", [](const Tensor& x) { return clamp(x, -0.5, 0.5); }},
    {"Where", [](const Tensor& x) { return where(gt(x, 0.0), x, x * 2.0); }},
    {"MaskedFill",
     [](const Tensor& x) { return masked_fill(x, gt(x, 0.0), 0.0); }},
    {"To", [](const Tensor& x) { return to(x, DType::kF32); }},
    {"Clone", [](const Tensor& x) { return clone(x); }},
    {"Sum", [](const Tensor& x) { return sum(x); }},
    {"SumOverDims",
     [](const Tensor& x) {
       return sum(x, {1, 3}, true);
     }},
    {"Mean", [](const Tensor& x) { return mean(x); }},
    {"MeanOverDims",
     [](const Tensor& x) {
       return mean(x, {0, 2});
     }},
    {"Max", [](const Tensor& x) { return max(x); }},
    {"MaxOverDim", [](const Tensor& x) { return max(x, 1).values; }},
    {"MaxKeepingDim", [](const Tensor& x) { return max(x, 1, true).values; }},
    {"Min", [](const Tensor& x) { return min(x); }},
    {"MinOverDim", [](const Tensor& x) { return min(x, -1).values; }},
    {"Matmul", [](const Tensor& x) { return matmul(x, transpose(x, -2, -1)); }},
    {"MatmulByAMatrix",
     [](const Tensor& x) { return matmul(x, first_row(x).t()); }},
    {"MatmulByAVector",
     [](const Tensor& x) { return matmul(x, first_row(x).select(0, 0)); }},
    {"MatmulOfAVector",
     [](const Tensor& x) {
       return matmul(first_row(x).select(0, 0), x.select(0, 0).transpose(1, 2));
     }},
    {"MatmulOfVectors",
     [](const Tensor& x) {
       return matmul(first_row(x).select(0, 0), first_row(x).select(0, 1));
     }},
    {"Bmm",
     [](const Tensor& x) {
       return bmm(x.select(0, 0), x.select(0, 1).transpose(1, 2));
     }},
    {"Addmm",
     [](const Tensor& x) {
       return addmm(first(x), first_row(x), first_row(x).t());
     }},
    {"Linear", [](const Tensor& x) { return linear(x, first_row(x)); }},
    {"LinearOfAMatrix",
     [](const Tensor& x) { return linear(first_row(x), first_row(x)); }},
    {"LinearByAVector",
     [](const Tensor& x) { return linear(x, first_row(x).select(0, 0)); }},
    {"SoftmaxAlongTheLast", [](const Tensor& x) { return softmax(x, -1); }},
    {"SoftmaxAlongAnother", [](const Tensor& x) { return softmax(x, 1); }},
    {"SoftmaxOfAScalar", [](const Tensor& x) { return softmax(first(x), 0); }},
    {"LogSoftmaxAlongTheLast",
     [](const Tensor& x) { return log_softmax(x, -1); }},
    {"LogSoftmaxAlongAnother",
     [](const Tensor& x) { return log_softmax(x, 0); }},
    {"Cat",
     [](const Tensor& x) {
       return cat({x, x}, 1);
     }},
    {"CatOfOne", [](const Tensor& x) { return cat({x}, 1); }},
    {"Stack",
     [](const Tensor& x) {
       return stack({x, x}, 1);
     }},
    {"Pick",
     [](const Tensor& x) {
       return x.index({numbers({1, 0}, {2})});
     }},
    {"PickByAMask", [](const Tensor& x) { return x.index({yes(x)}); }},
    {"Roll", [](const Tensor& x) { return roll(x, {1}, {2}); }},
    {"Pad",
     [](const Tensor& x) {
       return pad(x, {1, 1});
     }},
    {"Flip", [](const Tensor& x) { return flip(x, {1}); }},
    {"Embedding",
     [](const Tensor& x) {
       return embedding(first_row(x), numbers({0, 3, 1, 1}, {2, 2}));
     }},
    {"IndexSelect",
     [](const Tensor& x) {
       return index_select(x, 1, numbers({2, 0}, {2}));
     }},
    {"Gather",
     [](const Tensor& x) {
       return gather(x, 3, numbers({0, 4}, {1, 1, 1, 2}));
     }},
    {"GatherOfAScalar",
     [](const Tensor& x) { return gather(first(x), 0, numbers({0}, {})); }},
    {"ScatterAdd",
     [](const Tensor& x) {
       return scatter_add(x, 3, numbers({0, 4}, {1, 1, 1, 2}), x);
     }},
    {"ScatterAddOfAScalar",
     [](const Tensor& x) {
       return scatter_add(first(x), 0, numbers({0}, {}), first(x));
     }},
    {"Dropout", [](const Tensor& x) { return dropout(x, 0.5); }},
    {"DropPath", [](const Tensor& x) { return drop_path(x, 0.5); }},
    {"Conv2d", [](const Tensor& x) { return conv2d(x, x.narrow(2, 0, 2)); }},
    {"MaxPool2d", [](const Tensor& x) { return max_pool2d(x, {.kernel = 2}); }},
    {"MaxPool2dOfOneImage",
     [](const Tensor& x) { return max_pool2d(x.select(0, 0), {.kernel = 2}); }},
    {"AvgPool2d", [](const Tensor& x) { return avg_pool2d(x, {.kernel = 2}); }},
    {"AvgPool2dOfOneImage",
     [](const Tensor& x) { return avg_pool2d(x.select(0, 0), {.kernel = 2}); }},
    {"AdaptiveAvgPool2d",
     [](const Tensor& x) { return adaptive_avg_pool2d(x, 2); }},
    {"BatchNorm",
     [](const Tensor& x) {
       return batch_norm(x, Tensor(), Tensor(), Tensor(), Tensor(),
                         {.training = true});
     }},
    {"LayerNorm",
     [](const Tensor& x) {
       return layer_norm(x, {4, 5});
     }},
    {"NllLoss",
     [](const Tensor& x) {
       return nll_loss(first_row(x), numbers({0, 1, 4, 2}, {4}),
                       {.reduction = Reduction::kNone});
     }},
    {"CrossEntropy",
     [](const Tensor& x) {
       return cross_entropy(first_row(x), numbers({0, 1, 4, 2}, {4}),
                            {.reduction = Reduction::kNone});
     }},
    {"MeanCrossEntropy",
     [](const Tensor& x) {
       return cross_entropy(first_row(x), numbers({0, 1, 4, 2}, {4}));
     }},
    {"CrossEntropyOfProbabilities",
     [](const Tensor& x) {
       return cross_entropy(first_row(x), softmax(first_row(x), 1).detach());
     }},
    {"MseLoss", [](const Tensor& x) { return mse_loss(x, x * 2.0); }},
    {"MseLossOfEach",
     [](const Tensor& x) { return mse_loss(x, x * 2.0, Reduction::kNone); }},
    {"Attention",
     [](const Tensor& x) { return scaled_dot_product_attention(x, x, x); }},
    {"Lstm",
     [](const Tensor& x) {
       const Tensor steps = x.select(0, 0);  // [3, 4, 5]
       const Tensor zero = zeros({4, 1}, {.dtype = x.dtype()});
       return lstm(steps, {zero, zero},
                   {.w_ih = first_row(x), .w_hh = first_row(x).narrow(1, 0, 1)})
           .output;
     }},
    {"LstmState",
     [](const Tensor& x) {
       const Tensor zero = zeros({4, 1}, {.dtype = x.dtype()});
       return lstm(x.select(0, 0), {zero, zero},
                   {.w_ih = first_row(x), .w_hh = first_row(x).narrow(1, 0, 1)})
           .h;
     }},
};

class Result : public testing::TestWithParam<Case> {
 protected:
  static Tensor input(bool requires_grad) {
    manual_seed(3);
    return randn({2, 3, 4, 5},
                 {.dtype = DType::kF64, .requires_grad = requires_grad});
  }
};

// With and without inputs that require grad.
TEST_P(Result, MayBeWrittenInPlace) {
  for (const bool requires_grad : {true, false}) {
    SCOPED_TRACE(requires_grad);
    const Tensor x = input(requires_grad);
    Tensor result = GetParam().run(x);
    ASSERT_EQ(result.requires_grad(), requires_grad);
    const auto before = to(result, DType::kF64).to_vector<double>();
    const Tensor factor =
        full({}, 3, {.dtype = result.dtype(), .requires_grad = true});
    result.mul_(factor);
    const auto after = to(result, DType::kF64).to_vector<double>();
    for (std::size_t i = 0; i < before.size(); ++i) {
      ASSERT_NEAR(after[i], 3 * before[i], 1e-6);
    }
    EXPECT_TRUE(result.requires_grad());
    EXPECT_STREQ(result.grad_fn()->name(), "MulBackward");
  }
}

// Item 76: detach_() of a view throws.
TEST_P(Result, MayBeDetachedInPlace) {
  Tensor result = GetParam().run(input(true));
  result.detach_();
  EXPECT_FALSE(result.requires_grad());
}

// Or backward, which needs the result, detects the write.
TEST_P(Result, HasTheSameGradientWhenWrittenInPlace) {
  const Tensor x = input(true);
  const Tensor wanted =
      autograd::grad({(GetParam().run(x) * 3.0).sum()}, {x})[0];
  const Tensor same = input(true);
  const Tensor written = GetParam().run(same);
  written.mul_(3.0);
  try {
    const Tensor found = autograd::grad({written.sum()}, {same})[0];
    EXPECT_EQ(found.to_vector<double>(), wanted.to_vector<double>());
  } catch (const autograd::VersionError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("inplace"));
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Result, testing::ValuesIn(kCases),
                         [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace hvd
