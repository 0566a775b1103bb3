// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/binary/number_ops.h"

#include "horovodpp/core/error.h"
#include "horovodpp/ops/binary/binary_loop.h"
#include "horovodpp/ops/binary/binary_ops.h"
#include "horovodpp/ops/binary/logic_ops.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {

using autograd::as_operand;

Tensor remainder(Scalar a, const Tensor& b) {
  return remainder(as_operand(a, b, "remainder"), b);
}
Tensor div(const Tensor& a, Scalar b, Rounding rounding) {
  return div(a, as_operand(b, a, "div"), rounding);
}
Tensor copysign(const Tensor& a, Scalar b) {
  return copysign(a, as_operand(b, a, "copysign"));
}
Tensor xlogy(Scalar a, const Tensor& b) {
  return xlogy(as_operand(a, b, "xlogy"), b);
}
Tensor xlogy(const Tensor& a, Scalar b) {
  return xlogy(a, as_operand(b, a, "xlogy"));
}
Tensor xlog1py(Scalar a, const Tensor& b) {
  return xlog1py(as_operand(a, b, "xlog1py"), b);
}
Tensor xlog1py(const Tensor& a, Scalar b) {
  return xlog1py(a, as_operand(b, a, "xlog1py"));
}

Tensor bitwise_and(Scalar a, const Tensor& b) { return bitwise_and(b, a); }
Tensor bitwise_or(Scalar a, const Tensor& b) { return bitwise_or(b, a); }
Tensor bitwise_xor(Scalar a, const Tensor& b) { return bitwise_xor(b, a); }
Tensor bitwise_left_shift(Scalar a, const Tensor& b) {
  return bitwise_left_shift(as_operand(a, b, "bitwise_left_shift"), b);
}
Tensor bitwise_right_shift(Scalar a, const Tensor& b) {
  return bitwise_right_shift(as_operand(a, b, "bitwise_right_shift"), b);
}

Tensor where(const Tensor& condition, Scalar a, const Tensor& b) {
  autograd::check_defined(b, "where");
  const DType dtype = result_type(b, a);
  autograd::check_held(a.value(), dtype, "where");
  return where(condition, full({}, a.value(), {.dtype = dtype}), b);
}
Tensor where(const Tensor& condition, Scalar a, Scalar b) {
  const DType dtype = promote_types(a.dtype(), b.dtype());
  return where(condition, full({}, a.value(), {.dtype = dtype}),
               full({}, b.value(), {.dtype = dtype}));
}

}  // namespace hvd
