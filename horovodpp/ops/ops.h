// The operations on tensors, each differentiable as often as one likes. The
// comment gives the formula and the shapes; "~" means that shapes broadcast as
// in NumPy. Operations of two tensors want equal dtypes.
//
//   hvd::Tensor loss = hvd::cross_entropy(hvd::linear(x, w, b), labels);
//
// InvalidArgument with the shapes, if they do not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/autograd/graph_ops.h"     // IWYU pragma: export
#include "horovodpp/autograd/view_history.h"  // IWYU pragma: export
#include "horovodpp/core/export.h"
#include "horovodpp/ops/attention.h"    // IWYU pragma: export
#include "horovodpp/ops/dropout.h"      // IWYU pragma: export
#include "horovodpp/ops/lookups.h"      // IWYU pragma: export
#include "horovodpp/ops/losses.h"       // IWYU pragma: export
#include "horovodpp/ops/lstm.h"         // IWYU pragma: export
#include "horovodpp/ops/shifts.h"       // IWYU pragma: export
#include "horovodpp/ops/spatial_ops.h"  // IWYU pragma: export
#include "horovodpp/tensor/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// --- Elementwise: binary_ops.cc, unary_ops.cc; add() in graph_ops.h ---
Tensor sub(const Tensor& a, const Tensor& b);  // a - b,  a ~ b
Tensor mul(const Tensor& a, const Tensor& b);  // a b,    a ~ b
Tensor div(const Tensor& a, const Tensor& b);  // a / b,  a ~ b, floating
// With a number, which for integers is whole.
Tensor add(const Tensor& a, double b);
Tensor mul(const Tensor& a, double b);

Tensor neg(const Tensor& x);   // -x
Tensor exp(const Tensor& x);   // e^x
Tensor log(const Tensor& x);   // ln x
Tensor relu(const Tensor& x);  // max(x, 0)
// --- math_ops.cc ---
Tensor pow(const Tensor& x, double exponent);
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
Tensor abs(const Tensor& x);  // Its derivative at 0 is 0.

// min(max(x, low), high); NaN stays NaN. Its derivative at a bound is 1.
Tensor clamp(const Tensor& x, double low, double high);

// --- Choice: choice_ops.cc. Comparisons are bool, and not differentiable; a
// number is taken as the floating dtype holds it ---
Tensor eq(const Tensor& a, const Tensor& b);  // a ~ b, as the others
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
Tensor where(const Tensor& condition, const Tensor& a, double b);
// value where mask, else x.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);
// x in another dtype; x itself if it has that dtype.
Tensor to(const Tensor& x, DType dtype);
// A copy, row by row.
Tensor clone(const Tensor& x);

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

// --- Reductions: reduce_ops.cc ---
// Over all elements, into []; sums of integers are int64. Or over `dims`, which go, or with `keepdim` stay
// as 1.
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const autograd::Dims& dims, bool keepdim = false);
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const autograd::Dims& dims, bool keepdim = false);
// The largest element; equals share the gradient. NaN is larger than
// everything.
Tensor max(const Tensor& x);
// Along a dimension, which goes unless `keepdim`, and where they lie: int64. The
// first of equals, which gets the gradient.
struct MaxResult {
  Tensor values;
  Tensor indices;
};
MaxResult max(const Tensor& x, std::int64_t dim, bool keepdim = false);
// The same for the smallest; NaN is smaller than everything.
Tensor min(const Tensor& x);
using MinResult = MaxResult;
MinResult min(const Tensor& x, std::int64_t dim, bool keepdim = false);
// Where the largest element of the last dimension lies: x [..., n] -> int64
// [...]. The first of equals, or of NaN. Not differentiable.
Tensor argmax(const Tensor& x);
// The same along any dimension, which goes unless `keepdim`.
Tensor argmax(const Tensor& x, std::int64_t dim, bool keepdim = false);

// --- Products: matmul_ops.cc ---
// [..., m, k] [..., k, n] -> [..., m, n], whose other dimensions ~. A vector [k]
// is taken as [1, k] on the left, [k, 1] on the right, and that 1 goes again.
Tensor matmul(const Tensor& a, const Tensor& b);
// [n, m, k] [n, k, p] -> [n, m, p]
Tensor bmm(const Tensor& a, const Tensor& b);
struct AddmmOptions {
  double beta = 1.0;
  double alpha = 1.0;
};
// beta x + alpha a b:  x ~ [m, n], a [m, k], b [k, n] -> [m, n]
Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b,
             const AddmmOptions& options = {});
// x W^T + b:  x [..., in], weight [out, in], bias [out] or undefined ->
// [..., out]. Or, with a weight [in]: [...]; with a bias [] then if x is [in].
Tensor linear(const Tensor& x, const Tensor& weight,
              const Tensor& bias = Tensor());

// --- Softmax: softmax_ops.cc ---
// e^x / sum e^x, along a dimension.
Tensor softmax(const Tensor& x, std::int64_t dim);
// x - ln sum e^x
Tensor log_softmax(const Tensor& x, std::int64_t dim = -1);

// --- Views: view_ops.cc, slice_ops.cc. They see each other's writes ---
// The same elements, row by row, in other sizes, of which one may be -1: a view
// if the strides allow, else a copy.
Tensor reshape(const Tensor& x, const autograd::Dims& sizes);
// The same, but InvalidArgument instead of a copy.
Tensor view(const Tensor& x, const autograd::Dims& sizes);
Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1);
// Dimension i of the result is dimension order[i] of x.
Tensor permute(const Tensor& x, const autograd::Dims& order);
// x repeated to larger sizes, of which a -1 is that of x, without copies.
Tensor expand(const Tensor& x, const autograd::Dims& sizes);
// Elements [start, start + length) of a dimension; a negative start counts from
// its end.
Tensor narrow(const Tensor& x, std::int64_t dim, std::int64_t start,
              std::int64_t length);
// Element `index` of a dimension, which goes.
Tensor select(const Tensor& x, std::int64_t dim, std::int64_t index);
// Drops a dimension of size 1; another stays.
Tensor squeeze(const Tensor& x, std::int64_t dim);
Tensor unsqueeze(const Tensor& x, std::int64_t dim);  // Inserts a 1.

// Every step-th element of [start, end), which are cut to the dimension's ends;
// negative ones count from its end. step > 0.
Tensor slice(const Tensor& x, std::int64_t dim, std::int64_t start,
             std::int64_t end, std::int64_t step = 1);

// --- Parts and wholes: part_ops.cc. Parts are views; being several results of
// one operation, they must not be written in place while recorded ---
// Parts of these sizes, which add up to that of `dim`.
std::vector<Tensor> split(const Tensor& x,
                          const std::vector<std::int64_t>& sizes,
                          std::int64_t dim = 0);
// Parts of `size`, but for the last, which may be smaller; one of an empty
// dimension.
std::vector<Tensor> split(const Tensor& x, std::int64_t size,
                          std::int64_t dim = 0);
// At most so many parts, all alike but for the last; as many of an empty
// dimension.
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks,
                          std::int64_t dim = 0);
// Every element of a dimension, which goes.
std::vector<Tensor> unbind(const Tensor& x, std::int64_t dim = 0);
// One after the other along a dimension; the other sizes are equal.
Tensor cat(const std::vector<Tensor>& tensors, std::int64_t dim = 0);
// Along a new dimension; all sizes are equal.
Tensor stack(const std::vector<Tensor>& tensors, std::int64_t dim = 0);

// --- Indexing: index_ops.cc; see index.h ---
// int64 [n, dims of x]: where x is not zero, in the order of memory by rows.
Tensor nonzero(const Tensor& x);

namespace autograd {

// 0 where result <= 0, else grad: the gradient of relu.
Tensor relu_backward(const Tensor& grad, const Tensor& result);

// The sum of the squares of all elements, added up in double. Not recorded.
double sum_of_squares(const Tensor& x);

}  // namespace autograd
}  // namespace hvd
