// SPDX-License-Identifier: Apache-2.0
// Choices in formulas that serve numbers and tensors (smooth.h): `number` where
// the name's condition on x and the bound holds, else `otherwise`.
#pragma once

#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

inline double number_above(double x, double bound, double number,
                           double otherwise) {
  return x > bound ? number : otherwise;
}
inline double number_up_to(double x, double bound, double number,
                           double otherwise) {
  return x <= bound ? number : otherwise;
}
inline double number_unless_up_to(double x, double bound, double number,
                                  double otherwise) {
  return x <= bound ? otherwise : number;
}
inline double number_unless_below(double x, double bound, double number,
                                  double otherwise) {
  return x < bound ? otherwise : number;
}
inline double number_at(double x, double point, double number,
                        double otherwise) {
  return x == point ? number : otherwise;
}

inline Tensor number_above(const Tensor& x, double bound, double number,
                           const Tensor& otherwise) {
  return masked_fill(otherwise, gt(x.detach(), bound), number);
}
inline Tensor number_up_to(const Tensor& x, double bound, double number,
                           const Tensor& otherwise) {
  return masked_fill(otherwise, le(x.detach(), bound), number);
}
inline Tensor number_unless_up_to(const Tensor& x, double bound, double number,
                                  const Tensor& otherwise) {
  return where(le(x.detach(), bound), otherwise, number);
}
inline Tensor number_unless_below(const Tensor& x, double bound, double number,
                                  const Tensor& otherwise) {
  return where(lt(x.detach(), bound), otherwise, number);
}
inline Tensor number_at(const Tensor& x, double point, double number,
                        const Tensor& otherwise) {
  return masked_fill(otherwise, eq(x.detach(), point), number);
}

// x up to the bound, so that an exponential that is not chosen is finite.
inline double at_most(double x, double bound) { return x > bound ? bound : x; }
inline Tensor at_most(const Tensor& x, double bound) {
  return masked_fill(x, gt(x.detach(), bound), bound);
}

}  // namespace hvd::autograd
