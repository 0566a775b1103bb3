// SPDX-License-Identifier: Apache-2.0
// An Index is one entry between the brackets of x[…]:
//
//   x.index({0, Slice(1, 3)})              // x[0, 1:3]        a view
//   x.index({kEllipsis, kNewAxis})         // x[..., None]     a view
//   x.index({rows, Slice()})               // int64 rows       a copy
//   x.index_put_({mask}, 0.0)              // x[mask] = 0      bool mask
//
// Numbers, slices, kNewAxis and kEllipsis make views; a tensor [] of signed
// integers is a number. Other tensors choose elements:
// - a tensor of integers (but uint8) picks elements of one dimension;
// - several such tensors broadcast together and pick points;
// - a bool mask picks the places where it is true, and takes as many dimensions
//   as it has.
//
// The picked dimensions appear at the first tensor's place, or in front if a
// slice separates the tensors. Negative numbers count from the end.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// start, start + step, … below end, clipped to the dimension.
struct Slice {
  explicit Slice(std::int64_t first = 0,
                 std::int64_t last = std::numeric_limits<std::int64_t>::max(),
                 std::int64_t distance = 1)
      : start(first), end(last), step(distance) {}
  std::int64_t start;
  std::int64_t end;
  std::int64_t step;
};

struct Ellipsis {};
struct NewAxis {};
inline constexpr Ellipsis kEllipsis;
inline constexpr NewAxis kNewAxis;

namespace autograd {

class Index {
 public:
  template <typename T>
  Index(T value)  // NOLINT(google-explicit-constructor)
      : value_(convert(std::move(value))) {}

  using Value = std::variant<std::int64_t, Slice, Ellipsis, NewAxis, Tensor>;
  const Value& value() const { return value_; }

 private:
  template <typename T>
  static Value convert(T value) {
    static_assert(!std::is_same_v<T, bool>, "true is no index");
    if constexpr (std::is_integral_v<T>) {
      return static_cast<std::int64_t>(value);
    } else {
      return value;
    }
  }
  Value value_;
};

}  // namespace autograd

// Operations that read or add to elements chosen by tensors of integer indices.
// Indices are not differentiable.
//
// InvalidArgument if an index is out of range. Scalars count as [1].

// y[i, j, ...] = x[index[i, j, ...], j, ...] for dim = 0, and likewise for
// other dims. `index` is no larger than x in any dimension but `dim`.
Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index);

// A copy of x with x[index[i, j, ...], j, ...] += source[i, j, ...] for dim =
// 0, and likewise for other dims. Indices may repeat. `source` is at least as
// large as `index`.
Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index,
                   const Tensor& source);

// x with x[…] = value, or += with `accumulate`, which adds for each of repeated
// indices. (Tensor::index_put_() writes without adding.)
Tensor index_put(const Tensor& x, const std::vector<autograd::Index>& indices,
                 const Tensor& value, bool accumulate = false);
const Tensor& index_put_(const Tensor& x,
                         const std::vector<autograd::Index>& indices,
                         const Tensor& value, bool accumulate = false);

// Lookup of rows and other slices by a tensor of integer indices, which are not
// differentiable.
//
// InvalidArgument if an index is out of range.

struct EmbeddingOptions {
  // The row without a gradient; a negative index counts from the end.
  std::optional<std::int64_t> padding_index = std::nullopt;
  // Whether the gradient of the table is sparse: see
  // autograd/graph/sparse_gradient.h.
  bool sparse = false;
};

// Rows of a table:  weight [n, width], indices [...] -> [..., width]
Tensor embedding(const Tensor& weight, const Tensor& indices,
                 const EmbeddingOptions& options = {});

// The elements `indices` [n] of a dimension, in that order, with repeats. A
// scalar counts as [1].
Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& indices);

// int64 [n, dims of x]: the indices of nonzero elements, in row-major order.
Tensor nonzero(const Tensor& x);

}  // namespace hvd
