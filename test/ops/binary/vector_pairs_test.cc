// SPDX-License-Identifier: Apache-2.0
// Vector loops of functions of two elements: float32 results are near those of
// float64, which the formulas for numbers compute, and gradients near those of
// the formulas for tensors.
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

struct VectorPair {
  Tensor (*run)(const Tensor&, const Tensor&);
  double ulps = 0.0;
  double slope_ulps = 0.0;
  double absolute = 1e-44;  // Where operands cancel.
};

const std::map<std::string, VectorPair>& vector_pairs() {
  static const std::map<std::string, VectorPair> all = {
      {"maximum", {maximum}},
      {"minimum", {minimum}},
      {"fmax", {fmax}},
      {"fmin", {fmin}},
      {"fmod", {fmod}},
      {"remainder", {remainder, 1}},
      {"atan2", {atan2, 4, 4}},
      {"hypot", {hypot, 4, 5}},
      {"copysign", {copysign}},
      {"logaddexp", {logaddexp, 4, 8, 2e-7}},
      {"logaddexp2", {logaddexp2, 4, 8, 2e-7}},
      {"xlogy", {xlogy, 4, 4}},
      {"xlog1py", {xlog1py, 4, 4}}};
  return all;
}

struct PairResults {
  std::vector<double> z, da, db;
};

// The gradients of a recorded derivative are composed, others take one loop.
PairResults pair_results(const VectorPair& pair, const Tensor& a,
                         const Tensor& b, bool composed) {
  const Tensor x = clone(a).set_requires_grad(true);
  const Tensor y = clone(b).set_requires_grad(true);
  const Tensor z = pair.run(x, y);
  const auto grads =
      autograd::grad({z}, {x, y}, {ones_like(z)}, {.create_graph = composed});
  return {values(to(z.detach(), DType::kF64)),
          values(to(grads[0].detach(), DType::kF64)),
          values(to(grads[1].detach(), DType::kF64))};
}

bool is_near_formula(double got, double exact, double ulps, double absolute) {
  const auto wanted = static_cast<float>(exact);
  if (std::isnan(wanted)) return std::isnan(got);
  if (std::isinf(wanted) || got == wanted) return got == wanted;
  return std::abs(got - exact) <= absolute + ulps * 1.2e-7 * std::abs(exact);
}

// Compares all pairs of the numbers.
void check_vector_pair(const VectorPair& pair,
                       const std::vector<float>& numbers) {
  const auto n = static_cast<std::int64_t>(numbers.size());
  const Tensor x = from_vector<float>(numbers, {n});
  const Tensor a = x.view({n, 1}).expand({n, n}).contiguous();
  const Tensor b = x.view({1, n}).expand({n, n}).contiguous();
  const PairResults got = pair_results(pair, a, b, false);
  const PairResults composed = pair_results(pair, a, b, true);
  const auto exact = values(pair.run(to(a, DType::kF64), to(b, DType::kF64)));
  for (std::size_t i = 0; i < got.z.size(); ++i) {
    const auto check = [&](const char* name, double is, double should_be,
                           double ulps, double absolute) {
      ASSERT_TRUE(is_near_formula(is, should_be, ulps, absolute))
          << name << " of " << numbers[i / numbers.size()] << ", "
          << numbers[i % numbers.size()] << ": " << is << ", not " << should_be;
    };
    check("z", got.z[i], exact[i], pair.ulps, pair.absolute);
    check("da", got.da[i], composed.da[i], pair.slope_ulps, 1e-37);
    check("db", got.db[i], composed.db[i], pair.slope_ulps, 1e-37);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(VectorPairs, AreNearTheFormulasOfNumbers) {
  std::vector<float> numbers;
  for (double x = -9.7; x < 9.7; x += 0.37) {
    numbers.push_back(static_cast<float>(x));
  }
  for (double x = 1e-3; x < 1e6; x *= 7.3) {
    numbers.push_back(static_cast<float>(x));
    numbers.push_back(static_cast<float>(-x));
  }
  for (const auto& [name, pair] : vector_pairs()) {
    SCOPED_TRACE(name);
    check_vector_pair(pair, numbers);
  }
}

TEST(VectorPairs, MeetZerosInfinitiesAndNanAsTheFormulasDo) {
  const float inf = std::numeric_limits<float>::infinity();
  const float most = std::numeric_limits<float>::max();
  const std::vector<float> numbers = {0.0f,   -0.0f, 1.0f,  -1.0f, 0.5f,
                                      -2.5f,  inf,   -inf,  NAN,   most,
                                      1e-45f, 1e30f, 1e-30f};
  for (const auto& [name, pair] : vector_pairs()) {
    SCOPED_TRACE(name);
    check_vector_pair(pair, numbers);
  }
}

TEST(VectorPairs, TakeEveryLayoutAndDtype) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    manual_seed(3);
    const Tensor wide = to(randn({6, 40}), dtype);
    const Tensor column = to(randn({20, 1}), dtype);
    for (const auto& [name, pair] : vector_pairs()) {
      SCOPED_TRACE(name);
      const auto run = [&p = pair](const Tensor& a, const Tensor& b) {
        return values(to(p.run(a, b), DType::kF64).contiguous());
      };
      const Tensor a = wide.slice(1, 0, 40, 2).t();  // {20, 6}
      EXPECT_THAT(
          run(a, column),
          testing::Pointwise(
              testing::NanSensitiveDoubleEq(),
              run(a.contiguous(), expand(column, {20, 6}).contiguous())));
    }
  }
}

}  // namespace
}  // namespace hvd
