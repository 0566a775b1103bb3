// SPDX-License-Identifier: Apache-2.0
// Mathematical functions of each element, beside those of elementwise_ops.h and
// unary_ops.h. Of floating-point tensors, except where a line says otherwise.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

Tensor log1p(const Tensor& x);       // ln(1 + x), exact near 0
Tensor expm1(const Tensor& x);       // e^x - 1, exact near 0
Tensor log2(const Tensor& x);        // ln x / ln 2
Tensor log10(const Tensor& x);       // ln x / ln 10
Tensor exp2(const Tensor& x);        // 2^x
Tensor reciprocal(const Tensor& x);  // 1 / x
Tensor square(const Tensor& x);      // x x

Tensor tan(const Tensor& x);
Tensor asin(const Tensor& x);
Tensor acos(const Tensor& x);
Tensor atan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor asinh(const Tensor& x);
Tensor acosh(const Tensor& x);
Tensor atanh(const Tensor& x);
Tensor sinc(const Tensor& x);  // sin(pi x) / (pi x), 1 at 0

Tensor erfc(const Tensor& x);     // 1 - erf(x), exact for large x
Tensor erfinv(const Tensor& x);   // The y with erf(y) = x.
Tensor lgamma(const Tensor& x);   // ln |gamma(x)|
Tensor digamma(const Tensor& x);  // The derivative of lgamma.
// The n-th derivative of digamma.
//   InvalidArgument  n is negative
Tensor polygamma(std::int64_t n, const Tensor& x);
// ln(x / (1 - x)), of x clamped to [eps, 1 - eps] if eps is given.
Tensor logit(const Tensor& x, std::optional<double> eps = std::nullopt);

Tensor trunc(const Tensor& x);  // Rounds toward 0; the derivative is 0.
Tensor frac(const Tensor& x);   // x - trunc(x)

// Numbers in place of NaN and infinities; the largest finite ones of the dtype
// in place of infinities unless given. The gradient there is 0. Of any dtype.
struct NanToNumOptions {
  double nan = 0.0;
  std::optional<double> posinf = std::nullopt;
  std::optional<double> neginf = std::nullopt;
};
Tensor nan_to_num(const Tensor& x, const NanToNumOptions& options = {});

// Of any dtype; return bool and are not differentiable.
Tensor isfinite(const Tensor& x);
struct ClosenessOptions {
  double rtol = 1e-5;
  double atol = 1e-8;
  bool equal_nan = false;
};
// Whether |a - b| <= atol + rtol |b|, or a = b;  a ~ b
Tensor isclose(const Tensor& a, const Tensor& b,
               const ClosenessOptions& options = {});
// Whether all elements are close.
bool allclose(const Tensor& a, const Tensor& b,
              const ClosenessOptions& options = {});

}  // namespace hvd
