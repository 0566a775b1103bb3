// SPDX-License-Identifier: Apache-2.0
// All but prod() are compositions, so they have derivatives of any order.
#include "horovodpp/ops/reductions/statistics_ops.h"

#include <algorithm>
#include <limits>

#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/reductions/row_products.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/unary_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

void check_floating(const Tensor& x, const char* operation) {
  check_defined(x, operation);
  if (!is_floating_point(x.dtype())) {
    throw_bad_dtype(x.dtype(), operation, "floating point");
  }
}

bool has_16_bits(DType dtype) {
  return is_floating_point(dtype) && size_of(dtype) == 2;
}

// f(x) in float32 for 16-bit types; the result has the dtype of x.
template <typename F>
Tensor in_float32(const Tensor& input, F f) {
  const Tensor x = autocast_wider(input);
  if (!has_16_bits(x.dtype())) return f(x);
  return f(x.to(DType::kF32)).to(x.dtype());
}

// sqrt x, whose derivative at 0 is 0.
Tensor root(const Tensor& x) {
  const Tensor positive = ne(x.detach(), 0.0);
  return where(positive, sqrt(where(positive, x, 1.0)), 0.0);
}

// Elements of x per element of a result.
double elements_per(const Tensor& x, const Tensor& result) {
  if (result.num_elements() == 0) return 0;
  return static_cast<double>(x.num_elements()) /
         static_cast<double>(result.num_elements());
}

Tensor variance(const Tensor& x, const Dims& dims, const VarOptions& options) {
  const Tensor means = mean(x, dims, true);
  const Tensor apart = sub(x, means);
  const double count = elements_per(x, means) - options.correction;
  return sum(mul(apart, apart), dims, options.keepdim) / std::max(count, 0.0);
}

Tensor power_norm(const Tensor& x, double order, const Dims& dims,
                  bool keepdim) {
  const Tensor total = sum(pow(abs(x), order), dims, keepdim);
  const Tensor positive = ne(total.detach(), 0.0);
  return where(positive, pow(where(positive, total, 1.0), 1 / order), 0.0);
}

Tensor norm_of_order(const Tensor& x, double order, const Dims& dims,
                     bool keepdim) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (order == 2) return root(sum(mul(x, x), dims, keepdim));
  if (order == 1) return sum(abs(x), dims, keepdim);
  if (order == kInfinity) return amax(abs(x), dims, keepdim);
  if (order == -kInfinity) return amin(abs(x), dims, keepdim);
  if (order == 0) {  // Its derivative is 0, like that of sign().
    const Tensor number = where(eq(x, x), x, 1.0);
    return sum(sign(abs(number)), dims, keepdim);
  }
  return power_norm(x, order, dims, keepdim);
}

Tensor log_of_sum(const Tensor& x, const Dims& dims, bool keepdim) {
  if (x.num_elements() == 0) return log(sum(x, dims, keepdim));
  const Tensor largest = amax(x.detach(), dims, true);
  const Tensor shift = where(isinf(largest), zeros_like(largest), largest);
  const Tensor total = sum(exp(sub(x, shift)), dims, keepdim);
  return add(log(total), reshape(shift, total.shape()));
}

// As PyTorch: a truth value is bool, but uint8 for a tensor of uint8.
Tensor truth_of(const Tensor& x, const Tensor& truth) {
  return x.dtype() == DType::kU8 ? to(truth, DType::kU8) : truth;
}

}  // namespace
}  // namespace autograd

Tensor var(const Tensor& x, const autograd::Dims& dims,
           const VarOptions& options) {
  autograd::check_floating(x, "var");
  return autograd::in_float32(x, [&](const Tensor& wide) {
    return autograd::variance(wide, dims, options);
  });
}

Tensor std(const Tensor& x, const autograd::Dims& dims,
           const VarOptions& options) {
  autograd::check_floating(x, "std");
  return autograd::in_float32(x, [&](const Tensor& wide) {
    return autograd::root(autograd::variance(wide, dims, options));
  });
}

Tensor vector_norm(const Tensor& x, double order, const autograd::Dims& dims,
                   bool keepdim) {
  autograd::check_floating(x, "vector_norm");
  return autograd::in_float32(x, [&](const Tensor& wide) {
    return autograd::norm_of_order(wide, order, dims, keepdim);
  });
}

Tensor logsumexp(const Tensor& x, const autograd::Dims& dims, bool keepdim) {
  autograd::check_floating(x, "logsumexp");
  return autograd::in_float32(x, [&](const Tensor& wide) {
    return autograd::log_of_sum(wide, dims, keepdim);
  });
}

Tensor nansum(const Tensor& x, const autograd::Dims& dims, bool keepdim) {
  autograd::check_defined(x, "nansum");
  if (!is_floating_point(x.dtype())) return sum(x, dims, keepdim);
  return sum(where(eq(x, x), x, 0.0), dims, keepdim);
}

Tensor nanmean(const Tensor& x, const autograd::Dims& dims, bool keepdim) {
  autograd::check_floating(x, "nanmean");
  return autograd::in_float32(x, [&](const Tensor& wide) {
    const Tensor count = sum(eq(wide, wide), dims, keepdim);
    return div(nansum(wide, dims, keepdim), count.to(wide.dtype()));
  });
}

Tensor prod(const Tensor& x) {
  autograd::check_defined(x, "prod");
  return prod(reshape(x, {-1}), 0);
}

Tensor prod(const Tensor& x, std::int64_t dim, bool keepdim) {
  autograd::check_defined(x, "prod");
  if (x.dim() == 0) return prod(reshape(x, {1}), dim);
  const auto along = static_cast<std::int64_t>(
      autograd::checked_dim(dim, x.shape().size(), "prod"));
  const auto multiply = [&](const Tensor& wide) {
    return autograd::products_along(wide, along);
  };
  const Tensor out = is_floating_point(x.dtype())
                         ? autograd::in_float32(x, multiply)
                         : multiply(x.to(DType::kI64));
  return keepdim ? out : autograd::without(out, along);
}

Tensor any(const Tensor& x, const autograd::Dims& dims, bool keepdim) {
  autograd::check_defined(x, "any");
  return autograd::truth_of(x, gt(sum(ne(x, 0.0), dims, keepdim), 0.0));
}

Tensor all(const Tensor& x, const autograd::Dims& dims, bool keepdim) {
  autograd::check_defined(x, "all");
  return autograd::truth_of(x, eq(sum(eq(x, 0.0), dims, keepdim), 0.0));
}

Tensor count_nonzero(const Tensor& x, const autograd::Dims& dims) {
  autograd::check_defined(x, "count_nonzero");
  return sum(ne(x, 0.0), dims);
}

}  // namespace hvd
