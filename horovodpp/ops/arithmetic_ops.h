// SPDX-License-Identifier: Apache-2.0
// Sums, differences, products and quotients, as functions and operators. "~"
// means that shapes broadcast as in NumPy. Operations on two tensors need equal
// dtypes. add() and div() of two tensors are in graph_ops.h, since the graph
// uses them.
#pragma once

#include "horovodpp/autograd/graph/graph_ops.h"  // IWYU pragma: export
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

Tensor sub(const Tensor& a, const Tensor& b);  // a - b,  a ~ b
Tensor mul(const Tensor& a, const Tensor& b);  // a b,    a ~ b
// With a number, which must be whole for integer tensors.
Tensor add(const Tensor& a, double b);
Tensor mul(const Tensor& a, double b);

Tensor neg(const Tensor& x);  // -x

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, double b) { return add(a, -b); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, double b) { return mul(a, 1.0 / b); }
inline Tensor operator+(double a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(double a, const Tensor& b) { return add(neg(b), a); }
inline Tensor operator*(double a, const Tensor& b) { return mul(b, a); }
Tensor operator/(double a, const Tensor& b);
inline Tensor operator-(const Tensor& x) { return neg(x); }

}  // namespace hvd
