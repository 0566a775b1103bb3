// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/unary/special.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace hvd::autograd {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The sum of (q + k)^-s over k from 0 on, for s > 1: the first terms, then the
// formula of Euler and Maclaurin (Abramowitz and Stegun, 23.1.30).
double hurwitz_zeta(double s, double q) {
  // The Bernoulli numbers B(2k), divided by (2k)!.
  constexpr double kSeries[] = {1.0 / 12.0,         -1.0 / 720.0,
                                1.0 / 30240.0,      -1.0 / 1209600.0,
                                1.0 / 47900160.0,   -691.0 / 1307674368000.0,
                                1.0 / 74724249600.0};
  double sum = 0.0, a = q;
  for (int k = 0; k < 12 || a < 12.0; ++k, a += 1.0) sum += std::pow(a, -s);
  sum += std::pow(a, 1.0 - s) / (s - 1.0) + 0.5 * std::pow(a, -s);
  double factor = s * std::pow(a, -s - 1.0);
  double next = s + 1.0;
  for (const double b : kSeries) {
    sum += b * factor;
    factor *= next * (next + 1.0) / (a * a);
    next += 2.0;
  }
  return sum;
}

}  // namespace

// Starts from Winitzki's formula. Each step of Halley's method triples the
// number of right digits.
double inverse_erf(double x) {
  const double size = std::abs(x);
  if (!(size < 1.0)) return size == 1.0 ? x * kInfinity : kNan;
  if (size < 1e-8) return x * 0.5 / std::numbers::inv_sqrtpi;
  constexpr double kShape = 0.147;
  const double log = std::log((1.0 - size) * (1.0 + size));
  const double half = 2.0 / (std::numbers::pi * kShape) + 0.5 * log;
  double y = std::sqrt(std::sqrt(half * half - log / kShape) - half);
  for (int step = 0; step < 3; ++step) {
    const double error =
        size < 0.5 ? std::erf(y) - size : (1.0 - size) - std::erfc(y);
    const double newton =
        error / (2.0 * std::numbers::inv_sqrtpi * std::exp(-y * y));
    y -= newton / (1.0 + y * newton);
  }
  return std::copysign(y, x);
}

// By recurrence to x >= 10, then the asymptotic series (Abramowitz and Stegun,
// 6.3.18). Negative x by reflection.
double digamma_of(double x) {
  if (x == 0.0) return std::copysign(kInfinity, -x);
  if (x < 0.0) {
    if (x == std::trunc(x)) return kNan;
    const double part = x - std::floor(x);
    return digamma_of(1.0 - x) -
           std::numbers::pi / std::tan(std::numbers::pi * part);
  }
  if (x == kInfinity) return x;
  double sum = 0.0;
  for (; x < 10.0; x += 1.0) sum -= 1.0 / x;
  constexpr double kSeries[] = {1.0 / 12.0,   -1.0 / 120.0, 1.0 / 252.0,
                                -1.0 / 240.0, 1.0 / 132.0,  -691.0 / 32760.0,
                                1.0 / 12.0};
  const double z = 1.0 / (x * x);
  double power = z;
  sum += std::log(x) - 0.5 / x;
  for (const double b : kSeries) {
    sum -= b * power;
    power *= z;
  }
  return sum;
}

double polygamma_of(std::int64_t n, double x) {
  if (std::isnan(x) || x == -kInfinity) return kNan;
  if (x == kInfinity) return 0.0;
  const double order = static_cast<double>(n);
  const double sign = n % 2 == 0 ? -1.0 : 1.0;
  if (x <= 0.0 && x == std::trunc(x)) return sign * kInfinity;
  // Far below 0 the sum would take a step for each whole number.
  if (x < -1e6) return kNan;
  return sign * std::tgamma(order + 1.0) * hurwitz_zeta(order + 1.0, x);
}

}  // namespace hvd::autograd
