// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/unary/functions.h"

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"
#include "test/autograd/near.h"

namespace hvd {
namespace {

using Function = Tensor (*)(const Tensor&);

// Functions and a number that maps (-1, 1) into the domain: x or, if positive,
// |x| + the number.
struct Domain {
  Function function;
  double above = 0.0;
};

const std::map<std::string, Domain>& functions() {
  static const std::map<std::string, Domain> all = {
      {"log1p", {log1p}},
      {"expm1", {expm1}},
      {"log2", {log2, 0.5}},
      {"log10", {log10, 0.5}},
      {"exp2", {exp2}},
      {"reciprocal", {reciprocal, 0.5}},
      {"square", {square}},
      {"tan", {tan}},
      {"asin", {asin}},
      {"acos", {acos}},
      {"atan", {atan}},
      {"sinh", {sinh}},
      {"cosh", {cosh}},
      {"asinh", {asinh}},
      {"acosh", {acosh, 1.5}},
      {"atanh", {atanh}},
      {"sinc", {sinc, 0.2}},
      {"erfc", {erfc}},
      {"erfinv", {erfinv}},
      {"lgamma", {lgamma, 0.3}},
      {"digamma", {digamma, 0.3}},
      {"elu", {[](auto& x) { return elu(x); }}},
      {"celu", {[](auto& x) { return celu(x, 0.7); }}},
      {"selu", {selu}},
      {"softplus", {[](auto& x) { return softplus(x, 2.0, 1.0); }}},
      {"log_sigmoid", {log_sigmoid}},
      {"mish", {mish}},
      {"softsign", {softsign}},
      {"hardswish", {hardswish}},
      {"hardsigmoid", {hardsigmoid}},
      {"hardtanh", {[](auto& x) { return hardtanh(x, -0.4, 0.3); }}},
      {"hardshrink", {[](auto& x) { return hardshrink(x, 0.3); }}},
      {"softshrink", {[](auto& x) { return softshrink(x, 0.3); }}},
      {"threshold", {[](auto& x) { return threshold(x, 0.2, 3.0); }}},
      {"polygamma", {[](auto& x) { return polygamma(2, x); }, 0.4}},
      {"logit", {[](auto& x) { return logit(square(x) * 0.8 + 0.1); }}},
      {"frac", {[](auto& x) { return frac(x * 3.0); }}},
      {"rrelu", {[](auto& x) { return rrelu(x); }}}};
  return all;
}

Tensor in_domain(const Domain& domain, const Tensor& x) {
  const Tensor y = tanh(x) * 0.9;
  return domain.above > 0.0 ? y * y + domain.above : y;
}

TEST(UnaryFunctions, HaveTheirDerivatives) {
  for (const auto& [name, domain] : functions()) {
    SCOPED_TRACE(name);
    check_grid(
        [&domain = domain](const Inputs& x) {
          return domain.function(in_domain(domain, x[0]));
        },
        {{2, 3}});
  }
}

// Backward is a formula of tensors while it is recorded, else a loop.
TEST(UnaryFunctions, HaveOneGradientRecordedOrNot) {
  manual_seed(2);
  const Tensor x = randn({40}, {.dtype = DType::kF64});
  for (const auto& [name, domain] : functions()) {
    SCOPED_TRACE(name);
    const Tensor at = in_domain(domain, x).set_requires_grad(true);
    const Tensor loop = autograd::grad({sum(domain.function(at))}, {at})[0];
    const Tensor formula = autograd::grad({sum(domain.function(at))}, {at}, {},
                                          {.create_graph = true})[0];
    expect_near(loop, formula, 1e-12);
  }
}

TEST(UnaryFunctions, ComputeEveryFloatingDtypeAndRefuseIntegers) {
  manual_seed(2);
  const Tensor x = randn({3, 5}, {.dtype = DType::kF64});
  // These promote, as the operations that they are made of.
  const std::set<std::string> compositions = {"frac", "logit", "square"};
  for (const auto& [name, domain] : functions()) {
    SCOPED_TRACE(name);
    const Tensor at = in_domain(domain, x);
    const Tensor exact = domain.function(at);
    expect_near(domain.function(at.to(DType::kF32)), exact, 2e-5);
    for (const DType dtype : {DType::kF16, DType::kBF16}) {
      const Tensor rounded = at.to(dtype);
      const Tensor found = domain.function(rounded);
      EXPECT_EQ(found.dtype(), dtype);
      expect_near(found, domain.function(rounded.to(DType::kF64)), 2e-2);
    }
    if (!compositions.contains(name)) {
      EXPECT_ERROR(InvalidArgument, "",
                   domain.function(ones({2}, {.dtype = DType::kBool})));
    }
    EXPECT_ERROR(InvalidArgument, "", domain.function(Tensor()));
    EXPECT_EQ(domain.function(zeros({0, 2})).shape(), autograd::Dims({0, 2}));
    EXPECT_EQ(domain.function(full({}, 0.5)).dim(), 0);
  }
}

TEST(Erfinv, InvertsErf) {
  for (const double x : {1e-300, 1e-9, 0.1, 0.5, 0.9, 0.999999, 1 - 1e-15}) {
    const double y = value(erfinv(constant(x)));
    EXPECT_NEAR(std::erf(y) / x, 1, 1e-14);
    EXPECT_EQ(value(erfinv(constant(-x))), -y);
  }
  EXPECT_EQ(value(erfinv(constant(1))), INFINITY);
  EXPECT_TRUE(std::isnan(value(erfinv(constant(1.1)))));
}

TEST(Digamma, ReflectsNegativeNumbers) {
  EXPECT_NEAR(value(digamma(constant(1))), -0.5772156649015329, 1e-15);
  EXPECT_NEAR(value(digamma(constant(-1.5))), 0.7031566406452434, 1e-14);
  EXPECT_NEAR(value(polygamma(1, constant(-1.5))), 9.379246644989123, 1e-13);
  EXPECT_TRUE(std::isnan(value(digamma(constant(-2)))));
  EXPECT_EQ(value(digamma(constant(0.0))), -INFINITY);
  EXPECT_ERROR(InvalidArgument, "negative", polygamma(-1, constant(1)));
}

TEST(NanToNum, ReplacesWhatIsNotFinite) {
  const Tensor x = leaf({1, NAN, INFINITY, -INFINITY}, {4});
  const Tensor y = nan_to_num(x, {.nan = 7, .neginf = -2});
  EXPECT_EQ(values(y), (std::vector<double>{
                           1, 7, std::numeric_limits<double>::max(), -2}));
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{1, 0, 0, 0}));
  EXPECT_EQ(nan_to_num(full({}, INFINITY, {.dtype = DType::kF16}))
                .to(DType::kF64)
                .item<double>(),
            65504);
}

TEST(Isclose, ComparesWithTolerances) {
  const Tensor a = constant({1, 2, NAN, INFINITY, INFINITY}, {5});
  const Tensor b = constant({1 + 1e-6, 2.1, NAN, INFINITY, 3}, {5});
  EXPECT_EQ(values(isclose(a, b).to(DType::kF64)),
            (std::vector<double>{1, 0, 0, 1, 0}));
  EXPECT_EQ(values(isclose(a, b, {.equal_nan = true}).to(DType::kF64)),
            (std::vector<double>{1, 0, 1, 1, 0}));
  EXPECT_FALSE(allclose(a, b));
  EXPECT_TRUE(allclose(ones({2, 3}), ones({3}) + 1e-6));
  EXPECT_EQ(values(isfinite(a).to(DType::kF64)),
            (std::vector<double>{1, 1, 0, 0, 0}));
}

TEST(Rrelu, DrawsSlopesInTraining) {
  manual_seed(8);
  const Tensor x = full({1000}, -1.0).set_requires_grad(true);
  const Tensor y = rrelu(x, {.lower = 0.25, .upper = 0.5, .training = true});
  y.sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), neg(y).to_vector<float>());
  EXPECT_GE(min(x.grad()).item<float>(), 0.25f);
  EXPECT_LE(max(x.grad()).item<float>(), 0.5f);
  EXPECT_NEAR(mean(y).item<float>(), -0.375, 0.02);
}

TEST(Activations, RefuseBadParameters) {
  const Tensor x = ones({3});
  EXPECT_ERROR(InvalidArgument, "glu", glu(x));
  EXPECT_ERROR(InvalidArgument, "celu", celu(x, 0.0));
  EXPECT_ERROR(InvalidArgument, "softshrink", softshrink(x, -1.0));
  EXPECT_ERROR(InvalidArgument, "hardtanh", hardtanh(x, 1.0, -1.0));
  EXPECT_ERROR(InvalidArgument, "rrelu",
               rrelu(x, {.lower = 1.0, .upper = 0.0}));
}

}  // namespace
}  // namespace hvd
