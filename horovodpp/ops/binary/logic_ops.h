// SPDX-License-Identifier: Apache-2.0
// Logic on truth values and bits. Tensors broadcast ("~") and are promoted as in
// PyTorch. These are not differentiable.
//
//   hvd::Tensor kept = hvd::gt(x, 0.0) & ~hvd::isnan(x);
#pragma once

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// Truth values: elements of any dtype are true unless 0. (logical_not() is in
// elementwise_ops.h.)
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);

// Bits of integers and bools.
Tensor bitwise_not(const Tensor& x);
Tensor bitwise_and(const Tensor& a, const Tensor& b);
Tensor bitwise_or(const Tensor& a, const Tensor& b);
Tensor bitwise_xor(const Tensor& a, const Tensor& b);
Tensor bitwise_and(const Tensor& a, Scalar b);
Tensor bitwise_or(const Tensor& a, Scalar b);
Tensor bitwise_xor(const Tensor& a, Scalar b);

inline Tensor operator~(const Tensor& x) { return bitwise_not(x); }
inline Tensor operator&(const Tensor& a, const Tensor& b) {
  return bitwise_and(a, b);
}
inline Tensor operator|(const Tensor& a, const Tensor& b) {
  return bitwise_or(a, b);
}
inline Tensor operator^(const Tensor& a, const Tensor& b) {
  return bitwise_xor(a, b);
}
inline Tensor operator&(const Tensor& a, Scalar b) { return bitwise_and(a, b); }
inline Tensor operator|(const Tensor& a, Scalar b) { return bitwise_or(a, b); }
inline Tensor operator^(const Tensor& a, Scalar b) { return bitwise_xor(a, b); }

// a 2^b, and a / 2^b rounded down, for integers. Bits that leave are lost. A
// negative b, or one that reaches the number of bits, shifts all bits out.
Tensor bitwise_left_shift(const Tensor& a, const Tensor& b);
Tensor bitwise_left_shift(const Tensor& a, Scalar b);
Tensor bitwise_right_shift(const Tensor& a, const Tensor& b);
Tensor bitwise_right_shift(const Tensor& a, Scalar b);

// In place: a = operation(a, b). Each returns a.
//   InvalidArgument  the result cannot be cast to a's dtype (can_cast())
const Tensor& logical_not_(const Tensor& a);
const Tensor& logical_and_(const Tensor& a, const Tensor& b);
const Tensor& logical_or_(const Tensor& a, const Tensor& b);
const Tensor& logical_xor_(const Tensor& a, const Tensor& b);
const Tensor& bitwise_not_(const Tensor& a);
const Tensor& bitwise_and_(const Tensor& a, const Tensor& b);
const Tensor& bitwise_or_(const Tensor& a, const Tensor& b);
const Tensor& bitwise_xor_(const Tensor& a, const Tensor& b);
const Tensor& bitwise_left_shift_(const Tensor& a, const Tensor& b);
const Tensor& bitwise_right_shift_(const Tensor& a, const Tensor& b);

inline const Tensor& operator&=(const Tensor& a, const Tensor& b) {
  return bitwise_and_(a, b);
}
inline const Tensor& operator|=(const Tensor& a, const Tensor& b) {
  return bitwise_or_(a, b);
}
inline const Tensor& operator^=(const Tensor& a, const Tensor& b) {
  return bitwise_xor_(a, b);
}

}  // namespace hvd
