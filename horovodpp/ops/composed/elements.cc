// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/composed/elements.h"

#include "horovodpp/autograd/record/record.h"
#include "horovodpp/ops/binary/binary_loop.h"
#include "horovodpp/ops/binary/binary_ops.h"
#include "horovodpp/ops/binary/pair_ops.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/elementwise.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace {

const Tensor& assign_power(const Tensor& a, const Tensor& b, const char* name,
                           Tensor (*operation)(const Tensor&, const Tensor&)) {
  autograd::check_defined(a, name);
  autograd::check_defined(b, name);
  return autograd::assign_function(
      a, autograd::needs_grad(a, b), name,
      [&](const Tensor& before) { return operation(before, b); });
}

}  // namespace

Tensor ldexp(const Tensor& a, const Tensor& b) {
  autograd::check_defined(a, "ldexp");
  autograd::check_defined(b, "ldexp");
  const DType dtype = autograd::floating_result(result_type(a, b));
  return mul(a, pow(2.0, to(b, dtype)));
}

Tensor float_power(const Tensor& a, const Tensor& b) {
  return pow(to(a, DType::kF64), to(b, DType::kF64));
}
Tensor float_power(const Tensor& a, double b) {
  return pow(to(a, DType::kF64), b);
}
Tensor float_power(double a, const Tensor& b) {
  return pow(a, to(b, DType::kF64));
}

Tensor signbit(const Tensor& x) {
  autograd::check_defined(x, "signbit");
  if (!is_floating_point(x.dtype())) return lt(x, 0.0);
  const Tensor one = ones({}, {.dtype = x.dtype()});
  return lt(copysign(one, x.detach()), 0.0);
}

Tensor positive(const Tensor& x) {
  autograd::check_defined(x, "positive");
  if (x.dtype() == DType::kBool) {
    autograd::throw_bad_dtype(x.dtype(), "positive",
                              "integers and floating point");
  }
  return x;
}

const Tensor& ldexp_(const Tensor& a, const Tensor& b) {
  return assign_power(a, b, "ldexp_", ldexp);
}
const Tensor& float_power_(const Tensor& a, const Tensor& b) {
  return assign_power(a, b, "float_power_", float_power);
}

}  // namespace hvd
