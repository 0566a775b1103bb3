// SPDX-License-Identifier: Apache-2.0
// Operations on each element. "~" means that shapes broadcast as in NumPy.
// Operands of different dtypes are promoted as in PyTorch (tensor/promotion.h),
// and gradients have the dtypes of their operands. add() and div() of two
// tensors are in graph_ops.h, since the graph uses them.
#pragma once

#include "horovodpp/autograd/graph/graph_ops.h"  // IWYU pragma: export
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/promotion.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// The quotient of integers is float32. Bools add as `or`, multiply as `and`, and
// have no difference.
Tensor sub(const Tensor& a, const Tensor& b);  // a - b,  a ~ b
Tensor mul(const Tensor& a, const Tensor& b);  // a b,    a ~ b
Tensor add(const Tensor& a, Scalar b);
Tensor sub(const Tensor& a, Scalar b);
Tensor mul(const Tensor& a, Scalar b);
Tensor div(const Tensor& a, Scalar b);

Tensor neg(const Tensor& x);  // -x

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, Scalar b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, Scalar b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, Scalar b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, Scalar b) { return div(a, b); }
inline Tensor operator+(Scalar a, const Tensor& b) { return add(b, a); }
Tensor operator-(Scalar a, const Tensor& b);
inline Tensor operator*(Scalar a, const Tensor& b) { return mul(b, a); }
Tensor operator/(Scalar a, const Tensor& b);
inline Tensor operator-(const Tensor& x) { return neg(x); }

// Elementwise mathematical functions.

// x^exponent. Integers to an integer power stay integers.
//   InvalidArgument  an integer to a negative integer power
Tensor pow(const Tensor& x, Scalar exponent);
Tensor sqrt(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);  // 1 / (1 + e^-x)
Tensor erf(const Tensor& x);
// kExact: x (1 + erf(x / sqrt 2)) / 2.
// kTanh:  x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
enum class GeluForm { kExact, kTanh };
Tensor gelu(const Tensor& x, GeluForm form = GeluForm::kExact);
Tensor abs(const Tensor& x);  // The derivative at 0 is 0.

Tensor exp(const Tensor& x);   // e^x
Tensor log(const Tensor& x);   // ln x
Tensor relu(const Tensor& x);  // max(x, 0)

namespace autograd {

// The gradient of relu: 0 where result <= 0, else grad.
Tensor relu_backward(const Tensor& grad, const Tensor& result);

}  // namespace autograd

// Comparisons, and choices by condition. Comparisons return bool and are not
// differentiable. A number operand is rounded to the tensor's floating dtype.

Tensor eq(const Tensor& a, const Tensor& b);  // a ~ b, also below
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, double b);
Tensor ne(const Tensor& a, double b);
Tensor lt(const Tensor& a, double b);
Tensor le(const Tensor& a, double b);
Tensor gt(const Tensor& a, double b);
Tensor ge(const Tensor& a, double b);
Tensor logical_not(const Tensor& x);
// condition ? a : b,  all three ~, condition bool
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, Scalar b);
// `value` where `mask` is true, else x.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

// min(max(x, low), high); NaN stays NaN. The derivative at a bound is 1.
Tensor clamp(const Tensor& x, Scalar low, Scalar high);

}  // namespace hvd
