// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/composed/inplace.h"

#include "horovodpp/autograd/record/record.h"
#include "horovodpp/ops/binary/binary_loop.h"
#include "horovodpp/ops/composed/measures.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/reductions/scan_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/unary/activations.h"
#include "horovodpp/ops/unary_ops.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace {

template <typename F>
const Tensor& assign(const Tensor& x, const char* name, F f) {
  autograd::check_defined(x, name);
  return autograd::assign_function(x, autograd::needs_grad(x), name, f);
}

}  // namespace

#define HVD_DEFINE(f)                                                    \
  const Tensor& f##_(const Tensor& x) {                                  \
    return assign(x, #f "_", static_cast<Tensor (*)(const Tensor&)>(f)); \
  }
// A function with parameters: the name, the parameters, and the call with `v`.
#define HVD_DEFINE_WITH(f, parameters, call)                         \
  const Tensor& f##_ parameters {                                    \
    return assign(x, #f "_", [&](const Tensor& v) { return call; }); \
  }

HVD_INPLACE_FUNCTIONS(HVD_DEFINE)

HVD_DEFINE_WITH(celu, (const Tensor& x, double alpha), celu(v, alpha))
HVD_DEFINE_WITH(clamp, (const Tensor& x, Scalar low, Scalar high),
                clamp(v, low, high))
HVD_DEFINE_WITH(clamp_max, (const Tensor& x, double high), clamp_max(v, high))
HVD_DEFINE_WITH(clamp_min, (const Tensor& x, double low), clamp_min(v, low))
HVD_DEFINE_WITH(cumprod, (const Tensor& x, std::int64_t dim), cumprod(v, dim))
HVD_DEFINE_WITH(cumsum, (const Tensor& x, std::int64_t dim), cumsum(v, dim))
HVD_DEFINE_WITH(elu, (const Tensor& x, double alpha), elu(v, alpha))
HVD_DEFINE_WITH(hardtanh, (const Tensor& x, double low, double high),
                hardtanh(v, low, high))
HVD_DEFINE_WITH(leaky_relu, (const Tensor& x, double slope),
                leaky_relu(v, slope))
HVD_DEFINE_WITH(logit, (const Tensor& x, std::optional<double> eps),
                logit(v, eps))
HVD_DEFINE_WITH(nan_to_num, (const Tensor& x, const NanToNumOptions& options),
                nan_to_num(v, options))
HVD_DEFINE_WITH(polygamma, (std::int64_t n, const Tensor& x), polygamma(n, v))
HVD_DEFINE_WITH(threshold, (const Tensor& x, double bound, double value),
                threshold(v, bound, value))
#undef HVD_DEFINE
#undef HVD_DEFINE_WITH

}  // namespace hvd
