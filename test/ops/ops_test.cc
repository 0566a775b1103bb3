// SPDX-License-Identifier: Apache-2.0
// Values, gradients and second derivatives of every operation. Item 115:
// gradients are compared with finite differences.
#include "horovodpp/ops.h"

#include <cmath>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/tensor/walk.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::ElementsAre;

struct OperationCase {
  const char* name;
  std::function<Tensor(const Inputs&)> run;
  std::vector<Dims> shapes;
  bool positive = false;
  bool rows_only = false;  // Reads memory in its layout.
};

void PrintTo(const OperationCase& c, std::ostream* out) { *out << c.name; }

Tensor labels() { return from_vector<std::int64_t>({2, 0, 1, 2}, {4}); }

const OperationCase kOperationCases[] = {
    {"Add", [](const Inputs& x) { return x[0] + x[1]; }, {{2, 3}, {2, 3}}},
    {"AddBroadcast",
     [](const Inputs& x) { return x[0] + x[1]; },
     {{2, 3}, {3}}},
    {"AddBroadcastBoth",
     [](const Inputs& x) { return x[0] + x[1]; },
     {{2, 1, 3}, {4, 1}}},
    {"AddScalar", [](const Inputs& x) { return 2.0 + x[0] + 1.0; }, {{3}}},
    {"Sub", [](const Inputs& x) { return x[0] - x[1]; }, {{2, 3}, {2, 1}}},
    {"SubScalar", [](const Inputs& x) { return 2.0 - x[0] - 1.0; }, {{3}}},
    {"Mul", [](const Inputs& x) { return x[0] * x[1]; }, {{2, 3}, {2, 3}}},
    {"MulBroadcast", [](const Inputs& x) { return x[0] * x[1]; }, {{2, 3}, {}}},
    {"MulItself", [](const Inputs& x) { return x[0] * x[0]; }, {{3}}},
    {"MulScalar", [](const Inputs& x) { return 2.0 * x[0] * 3.0; }, {{3}}},
    {"Div", [](const Inputs& x) { return x[0] / x[1]; }, {{2, 3}, {3}}, true},
    {"DivScalar",
     [](const Inputs& x) { return 2.0 / x[0] / 3.0; },
     {{3}},
     true},
    {"Neg", [](const Inputs& x) { return -x[0]; }, {{3}}},
    {"Exp", [](const Inputs& x) { return exp(x[0]); }, {{2, 3}}},
    {"ExpOfAView", [](const Inputs& x) { return exp(x[0].t()); }, {{2, 3}}},
    {"Log", [](const Inputs& x) { return log(x[0]); }, {{2, 3}}, true},
    {"Relu", [](const Inputs& x) { return relu(x[0]) * x[0]; }, {{2, 3}}},
    {"Clone", [](const Inputs& x) { return x[0].clone() * x[0]; }, {{3}}},
    {"Sum", [](const Inputs& x) { return x[0].sum() * x[0]; }, {{2, 3}}},
    {"SumDim", [](const Inputs& x) { return x[0].sum({1}); }, {{2, 3, 2}}},
    {"SumDims",
     [](const Inputs& x) {
       return x[0].sum({0, -1}, true) * x[0];
     },
     {{2, 3, 2}}},
    {"Mean", [](const Inputs& x) { return x[0].mean() * x[0]; }, {{2, 3}}},
    {"MeanDim", [](const Inputs& x) { return x[0].mean({0}); }, {{2, 3}}},
    {"Matmul",
     [](const Inputs& x) { return x[0].matmul(x[1]); },
     {{2, 3}, {3, 4}}},
    {"MatmulOfViews",
     [](const Inputs& x) {
       const Tensor y = x[0].t().matmul(x[1].t()).narrow(1, 1, 2);
       return y.matmul(x[1].narrow(0, 2, 2));
     },
     {{3, 2}, {4, 3}}},
    {"MatmulNarrow",
     [](const Inputs& x) { return x[0].matmul(x[1]); },
     {{4, 1}, {1, 3}}},
    {"Linear",
     [](const Inputs& x) { return linear(x[0], x[1], x[2]); },
     {{4, 3}, {2, 3}, {2}}},
    {"LinearWithoutBias",
     [](const Inputs& x) { return linear(x[0], x[1]); },
     {{4, 3}, {2, 3}}},
    {"LinearOfMoreDims",
     [](const Inputs& x) { return linear(x[0], x[1], x[2]); },
     {{2, 2, 3}, {2, 3}, {2}}},
    {"LinearOfOneDim",
     [](const Inputs& x) { return linear(x[0], x[1], x[2]); },
     {{3}, {2, 3}, {2}}},
    {"LogSoftmax", [](const Inputs& x) { return log_softmax(x[0]); }, {{4, 3}}},
    {"LogSoftmaxOfAView",
     [](const Inputs& x) { return log_softmax(x[0].t()) * x[0].t(); },
     {{3, 4}}},
    {"NllLoss",
     [](const Inputs& x) { return nll_loss(x[0] * x[0], labels()); },
     {{4, 3}}},
    {"CrossEntropy",
     [](const Inputs& x) { return cross_entropy(x[0], labels()); },
     {{4, 3}}},
    {"Reshape",
     [](const Inputs& x) {
       return x[0].reshape({3, -1}) * x[1];
     },
     {{2, 3}, {3, 2}}},
    {"ReshapeWithCopy",
     [](const Inputs& x) { return x[0].t().reshape({6}) * x[1]; },
     {{2, 3}, {6}}},
    {"Transpose",
     [](const Inputs& x) { return x[0].transpose(0, 2) * x[1]; },
     {{2, 3, 4}, {4, 3, 2}}},
    {"Permute",
     [](const Inputs& x) {
       return x[0].permute({2, 0, 1}) * x[1];
     },
     {{2, 3, 4}, {4, 2, 3}}},
    {"Expand",
     [](const Inputs& x) {
       return x[0].expand({2, 3}) * x[1];
     },
     {{2, 1}, {2, 3}}},
    {"Narrow",
     [](const Inputs& x) { return x[0].narrow(1, 1, 2) * x[1]; },
     {{2, 4}, {2, 2}}},
    {"Select",
     [](const Inputs& x) { return x[0].select(0, 1) * x[1]; },
     {{2, 3}, {3}}},
    {"SqueezeAndUnsqueeze",
     [](const Inputs& x) { return x[0].squeeze(1).unsqueeze(0) * x[1]; },
     {{2, 1, 3}, {1, 2, 3}}},
    {"AsStrided",
     [](const Inputs& x) {
       return autograd::as_strided(x[0], {2, 3}, {1, 1}, 1) * x[1];
     },
     {{5}, {2, 3}},
     false,
     true},
    {"SumTo",
     [](const Inputs& x) {
       return autograd::sum_to(x[0], {3, 1}) * x[1];
     },
     {{2, 3, 2}, {3, 1}}},
    {"CloneWithStrides",
     [](const Inputs& x) {
       return autograd::clone_with_strides(x[0], {1, 2}) * x[0];
     },
     {{2, 3}}},
    {"PowSqrt",
     [](const Inputs& x) {
       return pow(x[0], 3.0) * sqrt(x[1]) + pow(x[1], -0.5);
     },
     {{2, 3}, {3}},
     true},
    {"SinCos",
     [](const Inputs& x) { return sin(x[0]) * cos(x[1]); },
     {{3}, {2, 3}}},
    {"TanhSigmoid",
     [](const Inputs& x) { return tanh(x[0]) * sigmoid(x[0]); },
     {{2, 3}}},
    {"ErfGelu",
     [](const Inputs& x) { return erf(x[0]) + gelu(x[0]); },
     {{2, 3}}},
    {"Abs", [](const Inputs& x) { return abs(x[0]) * x[0]; }, {{2, 3}}},
    {"Where",
     [](const Inputs& x) {
       return where(gt(x[0], 0.0), x[0] * x[0], x[1]) * x[0];
     },
     {{2, 3}, {3}}},
    {"MaskedFill",
     [](const Inputs& x) {
       return masked_fill(x[0] * x[0], lt(x[1], 0.0), 2.0) * x[0];
     },
     {{2, 3}, {3}}},
    {"MaxDim",
     [](const Inputs& x) { return max(x[0] * x[0], 1).values * max(x[0]); },
     {{2, 3, 2}}},
    {"MaxKeepdim",
     [](const Inputs& x) { return max(x[0], 0, true).values * x[0]; },
     {{3, 2}}},
    {"Cat",
     [](const Inputs& x) {
       return cat({x[0], x[1], x[0] * x[0]}, 1) * cat({x[1], x[0], x[0]}, -1);
     },
     {{2, 3}, {2, 1}}},
    {"Stack",
     [](const Inputs& x) {
       return stack({x[0], x[1] * x[0]}, 1) * x[0].unsqueeze(1);
     },
     {{2, 3}, {2, 3}}},
    {"SplitUnbind",
     [](const Inputs& x) {
       const auto parts = x[0].split(2, 1);
       const auto rows = x[0].unbind(0);
       return parts[0] * parts[1] * (rows[0] * rows[1]).sum();
     },
     {{2, 4}}},
    {"SplitPartly",
     [](const Inputs& x) {
       return x[0].chunk(3, 0)[1] * x[0].unbind(1)[1].sum();
     },
     {{5, 2}}},
    {"SliceWithStep",
     [](const Inputs& x) { return x[0].slice(1, 1, 6, 2) * x[1]; },
     {{2, 6}, {2, 3}}},
    {"IndexRows",
     [](const Inputs& x) {
       const Tensor rows = from_vector<std::int64_t>({2, 0, 2, -1}, {2, 2});
       return x[0].index({rows}) * x[0].index({rows, Slice(0, 2)}).sum();
     },
     {{3, 2}}},
    {"IndexPoints",
     [](const Inputs& x) {
       const Tensor i = from_vector<std::int64_t>({0, 1}, {2});
       const Tensor j = from_vector<std::int64_t>({2, 0, 1}, {3, 1});
       return x[0].index({i, Slice(), j}) * x[0].index({Slice(), i, j}).sum();
     },
     {{2, 2, 3}}},
    {"IndexPut",
     [](const Inputs& x) {
       Tensor y = x[0] * 2.0;
       y.index_put_({from_vector<std::int64_t>({2, 0}, {2})}, x[1]);
       y.index_put_({1, kEllipsis}, x[1] * x[1]);
       return y * y;
     },
     {{3, 2}, {2}}},
    {"IndexMask",
     [](const Inputs& x) {
       const Tensor mask = gt(x[1], 0.0);
       Tensor y = x[0] * x[0];
       y.index_put_({mask}, y.index({mask}) * 3.0);
       return y * x[0];
     },
     {{2, 3}, {2, 3}}},
    {"Silu", [](const Inputs& x) { return silu(x[0]) * x[0]; }, {{2, 3}}},
    {"LeakyRelu",
     [](const Inputs& x) { return leaky_relu(x[0], 0.2) * x[0]; },
     {{2, 3}}},
    {"Rsqrt",
     [](const Inputs& x) { return rsqrt(x[0]) * x[0]; },
     {{2, 3}},
     true},
    {"Steps",
     [](const Inputs& x) {
       return (sign(x[0]) + floor(x[0]) + ceil(x[0]) + round(x[0])) * x[0];
     },
     {{2, 3}}},
    {"InplaceExpSin",
     [](const Inputs& x) {
       Tensor y = x[0] * 1.0;
       y.sin_();
       y.narrow(0, 1, 1).exp_();
       return exp(y) * y;
     },
     {{2, 3}}},
    {"InplaceOnViewsOfEveryKind",
     [](const Inputs& x) {
       Tensor y = x[0] * 1.0;
       y.transpose(0, 1).select(0, 1).mul_(x[1]);
       y.view({6}).slice(0, 0, 6, 2).mul_(2.0);
       y.unsqueeze(0).permute({2, 0, 1}).narrow(0, 0, 2).add_(x[1]);
       y.unsqueeze(1).squeeze(1).mul_(x[0]);
       return y.index({Slice(), 1}) * y.narrow(1, 0, 1);
     },
     {{2, 3}, {2}},
     false,
     true},
    {"InplaceChain",
     [](const Inputs& x) {
       Tensor y = x[0] * 1.0;
       y.add_(x[1], 0.5).mul_(x[1]).sub_(x[0]).mul_(3.0);
       return y.add_(1.0);
     },
     {{2, 3}, {3}}},
    {"InplaceCopy",
     [](const Inputs& x) {
       Tensor y = x[0] * x[0];
       y.narrow(0, 0, 1).copy_(x[1]);
       return y * y;
     },
     {{2, 3}, {3}}},
    {"InplaceFill",
     [](const Inputs& x) {
       Tensor y = x[0] * 2.0;
       y.select(0, 1).zero_();
       return y * x[0];
     },
     {{2, 3}}},
    {"InplaceRelu",
     [](const Inputs& x) { return (x[0] * 2.0).relu_() * x[0]; },
     {{2, 3}}},
};

class OperationTest : public testing::TestWithParam<OperationCase> {};

TEST_P(OperationTest, GradientsAgreeWithDifferences) {
  // Some of these operations have no derivative at equal elements.
  check_grid(GetParam().run, GetParam().shapes,
             {.positive = GetParam().positive,
              .repeated = false,
              .rows_only = GetParam().rows_only});
}

INSTANTIATE_TEST_SUITE_P(, OperationTest, testing::ValuesIn(kOperationCases),
                         [](const auto& test) {
                           return std::string(test.param.name);
                         });

// Item 115.
TEST(Gradcheck, NoticesAWrongFormulaAndRefusesFloat32) {
  struct WrongBackward : autograd::Node {
    const char* name() const override { return "WrongBackward"; }
    void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
      results[0] = grads[0] * 3.0;
    }
  };
  const auto wrong = [](const Inputs& x) {
    Tensor y = x[0].detach() * 2.0;
    autograd::set_history(y, autograd::make_node<WrongBackward>(x[0]));
    return std::vector{y};
  };
  EXPECT_ERROR(autograd::AutogradError, "the graph says 3",
               autograd::gradcheck(wrong, {leaf(1)}));
  EXPECT_ERROR(
      InvalidArgument, "float64",
      autograd::gradcheck(wrong, {ones({1}, {.requires_grad = true})}));
  EXPECT_THROW(autograd::gradcheck(wrong, {constant(1)}), InvalidArgument);
}

TEST(Ops, ComputeInFloat32AndInIntegers) {
  Tensor a = from_vector<float>({1, 2, 3, 4}, {2, 2});
  EXPECT_THAT((a * a - a / a + 1.0).to_vector<float>(),
              ElementsAre(1, 4, 9, 16));
  Tensor i = from_vector<std::int64_t>({1, 2, 3, 4}, {2, 2});
  EXPECT_THAT((i * i + i).sum({0}).to_vector<std::int64_t>(),
              ElementsAre(14, 26));
  EXPECT_THAT((i / i).to_vector<float>(), ElementsAre(1, 1, 1, 1));
  EXPECT_ERROR(InvalidArgument, "mean: computes in", i.mean());
  EXPECT_ERROR(InvalidArgument, "not in bool",
               -zeros({2}, {.dtype = DType::kBool}));
}

TEST(Ops, ALinearMapOfNoFeaturesIsZero) {
  const Tensor y = linear(ones({2, 3, 0}), ones({4, 0}));
  EXPECT_EQ(y.shape(), autograd::Dims({2, 3, 4}));
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(24, 0.0f));
}

TEST(Ops, NameTheShapesThatDoNotFit) {
  EXPECT_ERROR(InvalidArgument, "matmul: shapes [2,3] and [4,5]",
               matmul(ones({2, 3}), ones({4, 5})));
  EXPECT_ERROR(InvalidArgument, "add: shapes [2,3] and [2]",
               ones({2, 3}) + ones({2}));
  EXPECT_ERROR(InvalidArgument,
               "linear: input [2,3] does not go with weight "
               "[4,5] and bias [4]",
               linear(ones({2, 3}), ones({4, 5}), ones({4})));
  EXPECT_ERROR(InvalidArgument, "undefined", ones({2}) + Tensor());
  EXPECT_ERROR(InvalidArgument, "undefined", relu(Tensor()));
  EXPECT_ERROR(InvalidArgument, "sum: dimension 2", ones({2, 3}).sum({2}));
}

TEST(Matmul, ReadsTransposedNarrowAndEmptyOperands) {
  Tensor a = from_vector<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT(a.matmul(a.t()).to_vector<float>(), ElementsAre(14, 32, 32, 77));
  EXPECT_THAT(a.narrow(1, 1, 2).matmul(a.narrow(1, 0, 2)).to_vector<float>(),
              ElementsAre(14, 19, 29, 40));
  EXPECT_THAT(a.select(0, 1).unsqueeze(0).matmul(a.t()).to_vector<float>(),
              ElementsAre(32, 77));
  Tensor repeated = ones({1}).expand({3}).unsqueeze(1);
  EXPECT_THAT(a.matmul(repeated).to_vector<float>(), ElementsAre(6, 15));
  Tensor gaps = autograd::as_strided(arange(0, 12, 1, {}), {2, 2}, {6, 2}, 0);
  EXPECT_THAT(gaps.matmul(gaps).to_vector<float>(),
              ElementsAre(12, 16, 48, 76));
  EXPECT_THAT(ones({2, 0}).matmul(ones({0, 2})).to_vector<float>(),
              ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(ones({0, 3}).matmul(ones({3, 2})).shape(), Dims({0, 2}));
}

TEST(Sum, IsExactOverManyElementsAndAnyLayout) {
  EXPECT_EQ(ones({1 << 20}).sum().item<float>(), 1 << 20);
  EXPECT_NEAR(full({10000}, 0.1).sum().item<float>(), 1000, 1e-3);
  Tensor x = from_vector<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(x.t().sum().item<float>(), 21);
  EXPECT_THAT(x.t().sum({1}).to_vector<float>(), ElementsAre(5, 7, 9));
  EXPECT_EQ(ones({0}).sum().item<float>(), 0);
}

TEST(Relu, PassesTheGradientOfNotANumber) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    Tensor x = to(constant({NAN, 1, 0, -1}, {4}), dtype);
    x.set_requires_grad(true);
    relu(x).sum().backward();
    EXPECT_THAT(values(to(x.grad(), DType::kF64)), ElementsAre(1, 1, 0, 0));
  }
}

TEST(Abs, PassesAGradientThatIsNotANumber) {
  Tensor x = leaf({NAN, 0, -2, 3}, {4});
  abs(x).backward(constant({NAN, NAN, 1, 1}, {4}));
  EXPECT_THAT(values(x.grad()),
              ElementsAre(testing::IsNan(), testing::IsNan(), -1, 1));
}

TEST(Relu, KeepsNotANumber) {
  Tensor y = relu(from_vector<float>({-1, NAN, 2}, {3}));
  EXPECT_EQ(y.to_vector<float>()[0], 0);
  EXPECT_TRUE(std::isnan(y.to_vector<float>()[1]));
}

TEST(LogSoftmax, StaysFiniteForLargeInputs) {
  Tensor y = log_softmax(from_vector<float>({1000, 0, -1000}, {1, 3}));
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(0, -1000, -2000));
}

TEST(NllLoss, NamesATargetThatIsNoClass) {
  EXPECT_ERROR(InvalidArgument, "target 1 is 3, but there are 3 classes",
               nll_loss(ones({2, 3}), from_vector<std::int64_t>({0, 3}, {2})));
  EXPECT_ERROR(InvalidArgument, "integers [n]",
               nll_loss(ones({2, 3}), from_vector<float>({0, 1}, {2})));
}

TEST(Argmax, FindsTheFirstNan) {
  const Tensor x = from_vector<float>({1, NAN, 9, NAN}, {4});
  for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    EXPECT_EQ(argmax(to(x, dtype)).item<std::int64_t>(), 1);
  }
}

TEST(Argmax, FindsTheFirstLargest) {
  Tensor x = from_vector<float>({1, 5, 5, 9, 2, 3}, {2, 3});
  EXPECT_THAT(argmax(x).to_vector<std::int64_t>(), ElementsAre(1, 0));
  EXPECT_THAT(argmax(x.t()).to_vector<std::int64_t>(), ElementsAre(1, 0, 0));
}

TEST(Argmax, ReducesAnyDimension) {
  const Tensor x = from_vector<float>({1, 5, 5, 9, 2, 3}, {2, 3});
  EXPECT_THAT(argmax(x, 0).to_vector<std::int64_t>(), ElementsAre(1, 0, 0));
  EXPECT_THAT(x.argmax(-1).to_vector<std::int64_t>(), ElementsAre(1, 0));
  EXPECT_EQ(argmax(x, 0, true).shape(), Dims({1, 3}));
  EXPECT_EQ(x.argmax(1, true).shape(), Dims({2, 1}));
  EXPECT_EQ(argmax(full({}, 3), 0).item<std::int64_t>(), 0);
  EXPECT_EQ(argmax(ones({2, 0}), 0).shape(), Dims({0}));
  EXPECT_ERROR(InvalidArgument, "no element", argmax(ones({2, 0}), 1));
  EXPECT_ERROR(InvalidArgument, "out of range", argmax(x, 2));
}

TEST(Sum, RefusesADimensionThatIsNamedTwice) {
  const Tensor x = ones({2, 3});
  EXPECT_ERROR(InvalidArgument, "sum: dimension 0 is named twice",
               sum(x, {0, 0}));
  EXPECT_ERROR(InvalidArgument, "mean: dimension -1 is named twice in [1,-1]",
               mean(x, {1, -1}));
  EXPECT_ERROR(InvalidArgument, "named twice", sum(full({}, 1), {0, -1}));
}

TEST(Ops, ComputeInEveryDtypeOfNumbers) {
  for (DType dtype : kAllDTypes) {
    if (dtype == DType::kBool) continue;
    const Tensor a = arange(1, 5, 1, {.dtype = dtype}).view({2, 2});
    const Tensor b = full({2}, 2, {.dtype = dtype});
    EXPECT_EQ((a * b + a - b + 1).dtype(), dtype);
    EXPECT_THAT((a * b + a - b + 1).to(DType::kF64).to_vector<double>(),
                ElementsAre(2, 5, 8, 11))
        << name_of(dtype);
    EXPECT_THAT(gt(a, b).to_vector<bool>(),
                ElementsAre(false, false, true, true));
    EXPECT_EQ(max(a).to(DType::kF64).item<double>(), 4);
    Tensor c = a.clone();
    c.select(1, 0).add_(b).mul_(2.0);
    EXPECT_THAT(c.to(DType::kF64).to_vector<double>(),
                ElementsAre(6, 2, 10, 4));
    EXPECT_EQ(a.sum().to(DType::kF64).item<double>(), 10);
    EXPECT_EQ(argmax(a.view({4})).item<std::int64_t>(), 3);
  }
  EXPECT_EQ(full({300}, 200, {.dtype = DType::kU8}).sum().item<std::int64_t>(),
            60000);
}

TEST(Ops, HalvesAreComputedInFloat) {
  for (DType dtype : {DType::kBF16, DType::kF16}) {
    Tensor x = full({64, 64}, 0.5, {.dtype = dtype, .requires_grad = true});
    Tensor w = full({2, 64}, 0.25, {.dtype = dtype, .requires_grad = true});
    Tensor y = linear(x, w);
    EXPECT_EQ(y.dtype(), dtype);
    Tensor loss = cross_entropy(y, zeros({64}, {.dtype = DType::kI64}));
    EXPECT_EQ(loss.dtype(), dtype);
    (exp(y.mean()) + loss).backward();
    EXPECT_EQ(w.grad().dtype(), dtype);
    EXPECT_EQ(x.grad().shape(), x.shape());
    EXPECT_EQ(
        full({4096}, 1, {.dtype = dtype}).sum().to(DType::kF32).item<float>(),
        4096);
  }
}

TEST(Where, ChoosesAndTakesNumbers) {
  const Tensor x = from_vector<float>({-1, 2, NAN}, {3});
  EXPECT_THAT(where(ge(x, 0.0), x, -7.0).to_vector<float>(),
              ElementsAre(-7, 2, -7));
  EXPECT_ERROR(InvalidArgument, "bool", where(x, x, x));
  EXPECT_FALSE(eq(leaf(1), leaf(1)).requires_grad());
}

TEST(Where, OfIntegersTakesNumbersThatTheyHold) {
  const Tensor x = arange(1, 3);
  const Tensor first = lt(x, 2.0);
  EXPECT_THAT(where(first, x, 7).to_vector<std::int64_t>(), ElementsAre(1, 7));
  EXPECT_THAT(where(first, x, 1.5).to_vector<float>(), ElementsAre(1, 1.5));
  EXPECT_ERROR(InvalidArgument, "where: uint8 does not hold 300",
               where(first, to(x, DType::kU8), 300));
  EXPECT_ERROR(InvalidArgument, "masked_fill: int64 does not hold 0.5",
               masked_fill(x, first, 0.5));
  EXPECT_ERROR(InvalidArgument, "masked_fill: bool does not hold 0.5",
               masked_fill(first, first, 0.5));
  EXPECT_ERROR(InvalidArgument, "index_put_: int64 does not hold 0.5",
               x.index_put_({first}, 0.5));
  EXPECT_ERROR(InvalidArgument, "index_put_: int64 does not hold 0.5",
               x.index_put_({0}, 0.5));
  EXPECT_ERROR(InvalidArgument, "fill_: int64 does not hold 0.5", x.fill_(0.5));
  EXPECT_ERROR(InvalidArgument, "pad: int64 does not hold 0.5",
               pad(x, {1, 1}, 0.5));
  EXPECT_THAT(x.to_vector<std::int64_t>(), ElementsAre(1, 2));
}

TEST(CloneWithStrides, RefusesStridesThatAreNotDense) {
  const Tensor x = ones({2, 3});
  for (const Dims& strides : {Dims{3, -1}, Dims{1, 1}, Dims{4, 1}, Dims{1}}) {
    EXPECT_ERROR(InvalidArgument, "no dense strides",
                 autograd::clone_with_strides(x, strides));
  }
}

TEST(MaskedFill, KeepsTheMaskThatItUsed) {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor mask = lt(x.detach(), 1.5);
  const Tensor y = masked_fill(x, mask, 0.5);
  mask.fill_(0);
  y.sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 1));
}

TEST(MaskedFill, WantsAMaskOfBool) {
  const Tensor x = ones({2});
  EXPECT_ERROR(InvalidArgument, "masked_fill: its mask",
               masked_fill(x, arange(0, 2), 0.5));
  EXPECT_ERROR(InvalidArgument, "masked_fill: its mask", masked_fill(x, x, 0));
  EXPECT_THAT(masked_fill(x, lt(arange(0, 2), 1.0), 0.5).to_vector<float>(),
              ElementsAre(0.5, 1));
}

// The caller owns the result of grad(), and may scale it.
TEST(Mean, HasAGradientThatCanBeWritten) {
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  for (const Tensor& y : {mean(x), mean(x, {0}).sum()}) {
    const Tensor gradient = autograd::grad({y}, {x})[0];
    const double each = values(gradient)[0];
    gradient.mul_(2.0);
    EXPECT_THAT(values(gradient), testing::Each(2 * each));
  }
}

TEST(Max, PrefersNanAndTheFirstOfEquals) {
  const Tensor x = from_vector<float>({1, 5, 5, NAN, 2, 7}, {2, 3});
  EXPECT_THAT(max(x, 1).indices.to_vector<std::int64_t>(), ElementsAre(1, 0));
  EXPECT_TRUE(std::isnan(max(x).item<float>()));
  EXPECT_EQ(max(x, 0, true).values.shape(), Dims({1, 3}));
  EXPECT_ERROR(InvalidArgument, "no element", max(zeros({2, 0}), 1));
}

TEST(Max, OfAllSharesItsGradientAmongEquals) {
  Tensor x = leaf({5, 1, 5, 1}, {2, 2});
  max(x).backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(0.5, 0, 0.5, 0));
  x.set_grad(Tensor());
  min(x.t()).backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 0.5, 0, 0.5));
  Tensor nan = leaf({NAN, 1, NAN}, {3});
  max(nan).backward();
  EXPECT_THAT(values(nan.grad()), ElementsAre(0.5, 0, 0.5));
  check_grid([](const Inputs& v) { return max(v[0] * v[0]) * min(v[0]); },
             {{2, 3}}, {.repeated = false});
}

TEST(Ops, OfIntegersWithFractionsAreFloat32ButNotInPlace) {
  const Tensor x = arange(0, 4);
  EXPECT_THAT((x * 0.5).to_vector<float>(), ElementsAre(0, 0.5, 1, 1.5));
  EXPECT_THAT((x + 0.25).to_vector<float>(),
              ElementsAre(0.25, 1.25, 2.25, 3.25));
  EXPECT_THAT((x / 2).to_vector<float>(), ElementsAre(0, 0.5, 1, 1.5));
  EXPECT_ERROR(InvalidArgument, "mul_", x.mul_(0.5));
  EXPECT_ERROR(InvalidArgument, "add_", x.add_(0.5));
  EXPECT_THAT((x * -2 + 1).to_vector<std::int64_t>(),
              ElementsAre(1, -1, -3, -5));
  EXPECT_THAT((1 - x).to_vector<std::int64_t>(), ElementsAre(1, 0, -1, -2));
  EXPECT_ERROR(InvalidArgument, "negative power", pow(x, -1));
  EXPECT_THAT(pow(x, 3).to_vector<std::int64_t>(), ElementsAre(0, 1, 8, 27));
  EXPECT_THAT(pow(x, 0.5).to_vector<float>(),
              ElementsAre(0, 1, std::sqrt(2.0f), std::sqrt(3.0f)));
  const Tensor small = from_vector<std::uint8_t>({5, 7}, {2});
  EXPECT_THAT((small - 1).to_vector<std::uint8_t>(), ElementsAre(4, 6));
  EXPECT_THAT((2.5 - small).to_vector<float>(), ElementsAre(-2.5, -4.5));
  EXPECT_THAT(small.add_(-1.0).to_vector<std::uint8_t>(), ElementsAre(4, 6));
}

TEST(Clamp, OfIntegersStaysOrIsFloat32WithFractions) {
  const Tensor x = from_vector<std::int8_t>({-128, 0, 127}, {3});
  EXPECT_THAT(clamp(x, -1, 300).to_vector<std::int8_t>(),
              ElementsAre(-1, 0, 127));
  EXPECT_THAT(clamp(x, 0, 1.5).to_vector<float>(), ElementsAre(0, 0, 1.5));
  EXPECT_ERROR(InvalidArgument, "not in bool", clamp(gt(x, 0.0), false, true));
}

TEST(MseLoss, PromotesItsTarget) {
  Tensor x = from_vector<float>({1, 2}, {2}, true);
  const Tensor loss = mse_loss(x, arange(0, 2));
  EXPECT_EQ(loss.dtype(), DType::kF32);
  loss.backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(1, 1));
  Tensor low = ones({2}, {.dtype = DType::kBF16}).set_requires_grad(true);
  mse_loss(low, full({2}, 3.0)).backward();
  EXPECT_EQ(low.grad().dtype(), DType::kBF16);
}

TEST(Comparisons, RoundANumberAsElementsAre) {
  const Tensor x = from_vector<float>({0.1f, 0.2f}, {2});
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    EXPECT_THAT(eq(to(x, dtype), 0.1).to_vector<bool>(),
                ElementsAre(true, false));
    EXPECT_THAT(le(to(x, dtype), 0.1).to_vector<bool>(),
                ElementsAre(true, false));
  }
  EXPECT_THAT(lt(arange(0, 2), 0.5).to_vector<bool>(),
              ElementsAre(true, false));
}

TEST(Nonzero, OfAScalarIsOnePlaceOfNoDimensions) {
  EXPECT_EQ(nonzero(full({}, 1)).shape(), Dims({1, 0}));
  EXPECT_EQ(nonzero(full({}, 0)).shape(), Dims({0, 0}));
}

TEST(Cat, IsContiguousExceptForImages) {
  const Tensor x = ones({2, 3}).t();
  EXPECT_TRUE(cat({x, x}, 1).is_contiguous());
  EXPECT_EQ(stack({x, x}, 0).view({-1}).shape(), Dims({12}));
  const Tensor images = channels_last(ones({2, 3, 4, 5}));
  EXPECT_EQ(cat({images, images}, 1).strides(), Dims({120, 1, 30, 6}));
}

TEST(Cat, NamesTheShapesThatDoNotFit) {
  EXPECT_ERROR(InvalidArgument, "shapes [2,3] and [3,2]",
               cat({ones({2, 3}), ones({3, 2})}, 1));
  EXPECT_ERROR(InvalidArgument, "no tensors", cat({}));
}

TEST(To, ConvertsBetweenAllDtypes) {
  Tensor x = from_vector<float>({0, 1.5, -2, 100}, {4});
  for (DType dtype : kAllDTypes) {
    Tensor there = x.to(dtype);
    EXPECT_EQ(there.dtype(), dtype);
    EXPECT_EQ(there.to(DType::kF32).to_vector<float>()[0], 0);
  }
  EXPECT_THAT(x.to(DType::kBool).to_vector<bool>(),
              ElementsAre(false, true, true, true));
  EXPECT_THAT(x.to(DType::kU8).to_vector<std::uint8_t>(),
              ElementsAre(0, 1, 0, 100));
  EXPECT_THAT(from_vector<double>({1e30, -1e30, NAN}, {3})
                  .to(DType::kI64)
                  .to_vector<std::int64_t>(),
              ElementsAre(INT64_MAX, INT64_MIN, 0));
  EXPECT_TRUE(x.to(DType::kF32).is_same(x));
  EXPECT_EQ(x.to(DType::kBF16).to(DType::kF32).to_vector<float>()[1], 1.5f);
}

}  // namespace
}  // namespace hvd
