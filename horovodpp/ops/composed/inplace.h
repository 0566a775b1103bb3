// SPDX-License-Identifier: Apache-2.0
// Functions of each element in place: x = f(x). Each returns x.
//
//   hvd::clamp_(hvd::sqrt_(x), 0, 1);
//
// They take the dtypes of f, add one to x's version, and have f's derivative.
//
//   InvalidArgument   f does not take the dtype, or its result does not fit it
//   LeafInplaceError  x is a leaf that requires grad, outside NoGrad
#pragma once

#include <cstdint>
#include <optional>

#include "horovodpp/core/export.h"
#include "horovodpp/ops/unary/functions.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/tensor.h"

// HVD_INPLACE_FUNCTIONS(X): X(f) for each f without parameters.
// clang-format off
#define HVD_INPLACE_FUNCTIONS(X) \
  X(abs) X(acos) X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(ceil) X(cos) \
  X(cosh) X(deg2rad) X(digamma) X(erf) X(erfc) X(erfinv) X(exp) X(exp2) \
  X(expm1) X(floor) X(frac) X(hardsigmoid) X(hardswish) X(lgamma) X(log) \
  X(log10) X(log1p) X(log2) X(mish) X(neg) X(rad2deg) X(reciprocal) X(relu) \
  X(relu6) X(round) X(rsqrt) X(selu) X(sigmoid) X(sign) X(silu) X(sin) \
  X(sinc) X(sinh) X(sqrt) X(square) X(tan) X(tanh) X(trunc)
// clang-format on

namespace HVD_EXPORT hvd {

#define HVD_DECLARE(f) const Tensor& f##_(const Tensor& x);
HVD_INPLACE_FUNCTIONS(HVD_DECLARE)
#undef HVD_DECLARE

const Tensor& celu_(const Tensor& x, double alpha = 1.0);
const Tensor& clamp_(const Tensor& x, Scalar low, Scalar high);
const Tensor& clamp_max_(const Tensor& x, double high);
const Tensor& clamp_min_(const Tensor& x, double low);
const Tensor& cumprod_(const Tensor& x, std::int64_t dim);
const Tensor& cumsum_(const Tensor& x, std::int64_t dim);
const Tensor& elu_(const Tensor& x, double alpha = 1.0);
const Tensor& hardtanh_(const Tensor& x, double low = -1.0, double high = 1.0);
const Tensor& leaky_relu_(const Tensor& x, double slope = 0.01);
const Tensor& logit_(const Tensor& x, std::optional<double> eps = std::nullopt);
const Tensor& nan_to_num_(const Tensor& x, const NanToNumOptions& options = {});
const Tensor& polygamma_(std::int64_t n, const Tensor& x);
const Tensor& threshold_(const Tensor& x, double bound, double value);

}  // namespace hvd
