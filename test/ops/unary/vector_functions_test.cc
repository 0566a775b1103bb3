// SPDX-License-Identifier: Apache-2.0
// Vector loops of functions of one element: float32 results are near those of
// float64, which the formulas for numbers compute.
#include "horovodpp/ops/unary/vector_functions.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

// A function, and the errors that its value and its gradient may have in units
// in the last place.
struct VectorFunction {
  Tensor (*run)(const Tensor&);
  double value_ulps = 0.0;
  double slope_ulps = 0.0;
  double absolute = 1e-37;
  // Squares of large floats are infinite, where those of doubles are not.
  double slope_absolute = 1e-18;
};

const std::map<std::string, VectorFunction>& vector_functions() {
  static const std::map<std::string, VectorFunction> all = {
      {"elu", {[](auto& x) { return elu(x, 0.75); }, 4, 4}},
      {"celu", {[](auto& x) { return celu(x, 0.75); }, 5, 60}},
      {"selu", {selu, 4, 4}},
      {"softplus", {[](auto& x) { return softplus(x); }, 5, 4}},
      {"softplus_2", {[](auto& x) { return softplus(x, 2, 3); }, 5, 4}},
      {"log_sigmoid", {log_sigmoid, 5, 4}},
      // The slope has a zero at -1.19.
      {"mish", {mish, 5, 8, 1e-37, 2e-7}},
      {"softsign", {softsign, 2, 4}},
      {"hardswish", {hardswish, 3, 3, 1e-7, 1e-7}},
      {"hardtanh", {[](auto& x) { return hardtanh(x, -0.5, 0.25); }}},
      {"relu6", {relu6}},
      {"hardsigmoid", {hardsigmoid, 2, 2, 1e-7, 1e-7}},
      {"hardshrink", {[](auto& x) { return hardshrink(x, 0.5); }}},
      {"softshrink", {[](auto& x) { return softshrink(x, 0.5); }, 1}},
      {"threshold", {[](auto& x) { return threshold(x, 0.5, -3.0); }}},
      {"log1p", {log1p, 3, 2}},
      // Its slope is 1 + the result.
      {"expm1", {expm1, 3, 4, 1e-37, 2e-7}},
      {"log2", {log2, 3, 3}},
      {"log10", {log10, 3, 3}},
      {"exp2", {exp2, 3, 4}},
      {"reciprocal", {reciprocal, 1, 3}},
      {"asin", {asin, 4, 3}},
      {"acos", {acos, 4, 3}},
      {"atan", {atan, 4, 3}},
      {"sinh", {sinh, 4, 4}},
      {"cosh", {cosh, 4, 4}},
      {"asinh", {asinh, 4, 3}},
      {"acosh", {acosh, 4, 3}},
      {"atanh", {atanh, 4, 3}},
      // The square of x within the slope is rounded.
      {"erfc", {erfc, 5, 90}},
      {"erfinv", {erfinv, 4, 60}},
      // The logarithm of a rounded quotient.
      {"logit", {[](auto& x) { return logit(x); }, 4, 4, 3e-7}},
      {"nan_to_num", {[](auto& x) {
         return nan_to_num(x, {1.5, 2, -3});
       }}},
      {"trunc", {trunc}},
      {"frac", {frac}}};
  return all;
}

// Floats of every size and sign, denser where functions bend.
std::vector<float> vector_arguments() {
  std::vector<float> all;
  for (double x = -100; x < 100; x += 0.0137) {
    all.push_back(static_cast<float>(x));
  }
  for (double x = -7; x < 7; x += 0.00117) {
    all.push_back(static_cast<float>(x));
  }
  for (double x = 1e-45; x < 3e38; x *= 1.17) {
    all.push_back(static_cast<float>(x));
    all.push_back(static_cast<float>(-x));
  }
  return all;
}

// The bounds of pieces and domains, and numbers that are not finite.
std::vector<float> vector_boundaries() {
  const float inf = std::numeric_limits<float>::infinity();
  const float most = std::numeric_limits<float>::max();
  return {0.0f,   -0.0f, 0.25f, -0.25f, 0.5f,  -0.5f, 1.0f,   -1.0f,  1.5f,
          -1.5f,  3.0f,  -3.0f, 6.0f,   -6.0f, 20.0f, -20.0f, 1e-45f, -1e-45f,
          1e-38f, inf,   -inf,  most,   -most, NAN,   88.8f,  89.3f,  -104.0f};
}

struct VectorResults {
  std::vector<double> value;
  std::vector<double> slope;
};

VectorResults vector_results(const VectorFunction& function, const Tensor& x) {
  const Tensor leaf = clone(x.detach()).set_requires_grad(true);
  const Tensor y = function.run(leaf);
  y.backward(ones_like(y));
  return {values(to(y.detach(), DType::kF64)),
          values(to(leaf.grad(), DType::kF64))};
}

void expect_near_formula(double got, double exact, double ulps, double absolute,
                         float at) {
  const auto wanted = static_cast<float>(exact);
  if (std::isnan(wanted)) {
    EXPECT_TRUE(std::isnan(got)) << "of " << at << ": " << got;
  } else if (std::isinf(wanted) || wanted == got) {
    EXPECT_EQ(got, wanted) << "of " << at;
  } else {
    EXPECT_NEAR(got, exact, absolute + ulps * 1.2e-7 * std::abs(exact))
        << "of " << at;
  }
}

void check_vector_function(const VectorFunction& function,
                           const std::vector<float>& at) {
  const auto size = static_cast<std::int64_t>(at.size());
  const Tensor x = from_vector<float>(at, {size});
  const VectorResults got = vector_results(function, x);
  const VectorResults exact = vector_results(function, to(x, DType::kF64));
  for (std::size_t i = 0; i < at.size(); ++i) {
    expect_near_formula(got.value[i], exact.value[i], function.value_ulps,
                        function.absolute, at[i]);
    expect_near_formula(got.slope[i], exact.slope[i], function.slope_ulps,
                        function.slope_absolute, at[i]);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(VectorFunctions, AreWithinAFewUnitsInTheLastPlace) {
  for (const auto& [name, function] : vector_functions()) {
    SCOPED_TRACE(name);
    check_vector_function(function, vector_arguments());
    if (HasFailure()) return;  // The first difference says enough.
  }
}

TEST(VectorFunctions, MeetBoundsInfinitiesAndNanAsTheFormulasDo) {
  for (const auto& [name, function] : vector_functions()) {
    SCOPED_TRACE(name);
    check_vector_function(function, vector_boundaries());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace hvd
