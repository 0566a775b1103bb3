// SPDX-License-Identifier: Apache-2.0
// Compares the vector loops with their functors in double, and tests all
// combinations of operand layouts.
#include "horovodpp/tensor/elementwise.h"

#include <cmath>

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using autograd::Dims;
using autograd::LoopId;
namespace functors = autograd::functors;

// Floats of every size and sign, denser where functions bend.
std::vector<float> floats() {
  std::vector<float> all;
  for (double x = -100; x < 100; x += 0.0137) {
    all.push_back(static_cast<float>(x));
  }
  for (double x = 1e-45; x < 3e38; x *= 1.17) {
    all.push_back(static_cast<float>(x));
    all.push_back(static_cast<float>(-x));
  }
  return all;
}

template <typename F>
std::vector<float> computed(const std::vector<float>& x,
                            const std::vector<float>& y, float c) {
  std::vector<float> out(x.size());
  autograd::float_loop(F::kLoop)(x.data(), y.data(), c, out.data(), x.size());
  return out;
}

// Allows errors of `ulps` units in the last place, or `absolute` where results
// cancel.
template <typename F>
void check_accuracy(double ulps, double absolute = 1e-38) {
  const auto x = floats();
  std::vector<float> y(x.rbegin(), x.rend());
  const auto got = computed<F>(x, y, 0.75f);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = F()(double{x[i]}, double{y[i]}, 0.75);
    const auto wanted = static_cast<float>(exact);
    if (std::isnan(wanted) || std::isinf(wanted)) {
      EXPECT_TRUE(std::isnan(wanted) ? std::isnan(got[i]) : got[i] == wanted)
          << "of " << x[i] << ", " << y[i] << ": " << got[i];
      continue;
    }
    const double bound = absolute + ulps * 1.2e-7 * std::abs(exact);
    ASSERT_NEAR(got[i], exact, bound) << "of " << x[i] << ", " << y[i];
  }
}

TEST(FloatLoops, AreWithinAFewUnitsInTheLastPlace) {
  check_accuracy<functors::Exp>(1.5, 2e-45);
  check_accuracy<functors::Log>(1.5);
  check_accuracy<functors::Sqrt>(1);
  check_accuracy<functors::Tanh>(2.5);
  check_accuracy<functors::Sigmoid>(2.5);
  check_accuracy<functors::Erf>(3);
  check_accuracy<functors::Neg>(0);
  check_accuracy<functors::Abs>(0);
  check_accuracy<functors::AbsBackward>(0);
  check_accuracy<functors::Cube>(2, 1e-44);
  check_accuracy<functors::AtLeast>(0);
  check_accuracy<functors::AtMost>(0);
  check_accuracy<functors::AtLeastBackward>(0);
  check_accuracy<functors::AtMostBackward>(0);
  check_accuracy<functors::Sign>(0);
  check_accuracy<functors::Floor>(0);
  check_accuracy<functors::Ceil>(0);
  check_accuracy<functors::Round>(0);
  check_accuracy<functors::LeakyRelu>(1, 1e-44);
  check_accuracy<functors::LeakyReluBackward>(1, 1e-44);
  // e^-x is infinite before the quotient is 0.
  check_accuracy<functors::Silu>(3, 4e-37);
  check_accuracy<functors::Rsqrt>(1.5);
  check_accuracy<functors::Sin>(3, 1e-7);
  check_accuracy<functors::Cos>(3, 1e-7);
  check_accuracy<functors::Relu>(0);
  check_accuracy<functors::Add>(1);
  check_accuracy<functors::Sub>(1);
  check_accuracy<functors::Mul>(1);
  check_accuracy<functors::AddScaled>(1, 1e-5);
  check_accuracy<functors::SubScaled>(1.5, 1e-44);
  check_accuracy<functors::AddScalar>(1);
  check_accuracy<functors::MulScalar>(1, 1e-44);
  check_accuracy<functors::ReluBackward>(0);
  // Twice the largest floats is infinite.
  check_accuracy<functors::SqrtBackward>(1.5, 1e-36);
}

// The tails of these functions are differences, or products that cancel in
// double.
TEST(FloatLoops, AreAsNearAsTheirFormulasAllow) {
  check_accuracy<functors::Gelu>(8, 3e-7);
  check_accuracy<functors::GeluTanh>(8, 3e-7);
}

TEST(FloatLoops, MeetInfinitiesAndNanAsTheFunctorsDo) {
  const float inf = INFINITY;
  const std::vector<float> x = {inf, -inf, NAN, 0.0f, -0.0f, 1e-45f, -1.0f};
  const auto check = [&]<typename F>(F) {
    const auto got = computed<F>(x, x, 1.0f);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float wanted = F()(x[i], x[i], 1.0f);
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(got[i])) << int(F::kLoop) << " of " << x[i];
      } else {
        EXPECT_NEAR(got[i] == wanted ? 0 : got[i] - wanted, 0, 1e-6)
            << int(F::kLoop) << " of " << x[i];
      }
    }
  };
  check(functors::Exp());
  check(functors::Log());
  check(functors::Sqrt());
  check(functors::Tanh());
  check(functors::Sigmoid());
  check(functors::Erf());
  check(functors::Gelu());
  check(functors::GeluTanh());
  check(functors::Relu());
  check(functors::Abs());
  check(functors::Div());
  check(functors::ReluBackward());
  check(functors::TanhBackward());
  check(functors::SigmoidBackward());
}

TEST(FloatLoops, OfGradientsFollowTheFunctors) {
  std::vector<float> x, y;
  for (double v = -6; v < 6; v += 0.0173) {
    x.push_back(static_cast<float>(1.0 + v / 7.0));
    y.push_back(static_cast<float>(v));
  }
  const auto check = [&]<typename F>(F) {
    const auto got = computed<F>(x, y, 0.25f);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = F()(double{x[i]}, double{y[i]}, 0.25);
      ASSERT_NEAR(got[i], exact, 2e-6 * (1.0 + std::abs(exact)))
          << int(F::kLoop) << " of " << x[i] << ", " << y[i];
    }
  };
  check(functors::TanhBackward());
  check(functors::SigmoidBackward());
  check(functors::ErfBackward());
  check(functors::ExpShifted());
  check(functors::GeluBackward());
  check(functors::GeluTanhBackward());
  check(functors::SoftmaxBackward());
  check(functors::LogSoftmaxBackward());
}

TEST(FloatLoops, TakeEveryLength) {
  for (std::size_t n = 0; n < 70; ++n) {
    std::vector<float> x(n, 2.0f), out(n + 1, -1.0f);
    autograd::float_loop(LoopId::kMul)(x.data(), x.data(), 0, out.data(), n);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(out[i], 4);
    EXPECT_EQ(out[n], -1);
  }
}

// Element by element, for all layouts, shapes and dtypes.
TEST(Elementwise, ReadsEveryLayout) {
  const std::vector<std::pair<Dims, Dims>> shapes = {
      {{3, 40}, {3, 40}},  {{3, 40}, {40}},   {{3, 40}, {3, 1}},
      {{3, 40}, {}},       {{3, 1}, {40}},    {{600}, {1}},
      {{2, 3, 4}, {3, 1}}, {{2, 600}, {600}}, {{0, 3}, {3}}};
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64}) {
    for (const auto& [first, second] : shapes) {
      for (Layout layout : kLayouts) {
        manual_seed(1);
        const auto make = [&](const Dims& shape) {
          const Tensor leaf =
              randn(leaf_shape(shape, layout), {.dtype = DType::kF64});
          return laid_out(to(leaf, dtype), shape, layout);
        };
        const Tensor a = make(first);
        const Tensor b = make(second);
        const auto got = to(clone(a) + clone(b), DType::kF64).contiguous();
        const auto direct = to(a + b, DType::kF64).contiguous();
        EXPECT_EQ(values(direct), values(got))
            << name_of(dtype) << first.to_string() << second.to_string()
            << name_of(layout);
        const auto exact = values(tanh(to(a, DType::kF64)).contiguous());
        const auto rounded = values(to(tanh(a), DType::kF64).contiguous());
        const double unit = dtype == DType::kBF16  ? 4e-3
                            : dtype == DType::kF16 ? 5e-4
                                                   : 3e-7;
        for (std::size_t i = 0; i < exact.size(); ++i) {
          ASSERT_NEAR(rounded[i], exact[i], unit);
        }
      }
    }
  }
}

TEST(Elementwise, AColumnMeansTheSameAsItsCopies) {
  const Dims shape{3, 5, 40};
  const Tensor x = randn(shape);
  const auto same = [](const Tensor& a, const Tensor& b) {
    return a.to_vector<float>() == b.to_vector<float>();
  };
  for (const Dims& narrow : {Dims{3, 5, 1}, Dims{3, 1, 1}, Dims{1, 5, 1}}) {
    const Tensor column = randn(narrow);
    const Tensor copies = clone(expand(column, shape));
    EXPECT_TRUE(same(mul(x, column), mul(x, copies)));
    EXPECT_TRUE(same(mul(column, x), mul(copies, x)));
    EXPECT_TRUE(same(add(x, column), add(x, copies)));
    EXPECT_TRUE(same(add(column, x), add(copies, x)));
    EXPECT_TRUE(same(sub(x, column), sub(x, copies)));
    EXPECT_TRUE(same(div(column, x), div(copies, x)));
  }
}

TEST(Elementwise, WritesIntoAnOperand) {
  Tensor x = arange(0, 12, 1, {.dtype = DType::kF32}).view({3, 4});
  x.t().mul_(from_vector<float>({1, 2, 3}, {3}));
  EXPECT_THAT(
      x.to_vector<float>(),
      ::testing::ElementsAre(0, 1, 2, 3, 8, 10, 12, 14, 24, 27, 30, 33));
  x.slice(1, 0, 4, 2).add_(1.0);
  EXPECT_THAT(x.select(0, 0).to_vector<float>(),
              ::testing::ElementsAre(1, 1, 3, 3));
}

TEST(Gelu, HasItsDerivativesInBothForms) {
  for (GeluForm form : {GeluForm::kExact, GeluForm::kTanh}) {
    check_grid([form](const Inputs& x) { return gelu(x[0], form); }, {{2, 3}});
  }
}

TEST(Clamp, HasItsDerivativesAndKeepsNan) {
  check_grid([](const Inputs& x) { return clamp(x[0] * x[0], 0.1, 0.9); },
             {{3, 4}});
  const auto y = clamp(from_vector<float>({-2, 0.5, 2, NAN}, {4}), -1, 1)
                     .to_vector<float>();
  EXPECT_EQ(y[0], -1);
  EXPECT_EQ(y[1], 0.5f);
  EXPECT_EQ(y[2], 1);
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST(Clamp, HasTheDerivativeOneAtBoundsThatAreRounded) {
  for (DType dtype : {DType::kF32, DType::kBF16}) {
    Tensor x = full({2}, 0.1, {.dtype = dtype, .requires_grad = true});
    (clamp(x, -1, 0.1) + clamp(x, 0.1, 1)).sum().backward();
    EXPECT_EQ(to(x.grad(), DType::kF32).to_vector<float>()[0], 2);
  }
}

TEST(Min, IsTheFirstOfEqualsAndHasItsDerivatives) {
  const Tensor x = from_vector<float>({3, 1, 1, NAN, 2, 7}, {2, 3});
  EXPECT_EQ(min(x, 1).indices.to_vector<std::int64_t>()[0], 1);
  EXPECT_TRUE(std::isnan(min(x).item<float>()));
  EXPECT_ERROR(InvalidArgument, "min: dimension 1", min(zeros({2, 0}), 1));
  check_grid([](const Inputs& v) { return min(v[0] * v[0], 1).values; },
             {{2, 3, 2}}, {.repeated = false});
}

}  // namespace
}  // namespace hvd
