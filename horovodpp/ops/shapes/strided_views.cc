// SPDX-License-Identifier: Apache-2.0
// Views that a change of strides describes.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/shapes/views.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {

using autograd::Dims;
using autograd::Geometry;

namespace {

// A view of x. `geometry_of` gives the view's geometry in a tensor with the
// shape of x, given the strides, from offset 0.
template <typename GeometryOf>
Tensor strided_view(const Tensor& x, const char* name, GeometryOf geometry_of) {
  const Geometry of_x = geometry_of(x.strides());
  Tensor out = autograd::make_view(x, of_x.shape, of_x.strides,
                                   x.storage_offset() + of_x.offset);
  if (autograd::needs_grad(x)) {
    // dx = the sum of dy over the elements of the view that are one of x
    const Dims rows = autograd::contiguous_strides(x.shape());
    autograd::record(out, name, x,
                     [base = Geometry{x.shape(), rows, 0},
                      view = geometry_of(rows)](Tensor& dy) {
                       return autograd::as_strided_backward(dy, base, view);
                     });
  }
  return out;
}

std::int64_t diagonal_size(std::int64_t rows, std::int64_t columns,
                           std::int64_t offset) {
  // Compared first, since a sum could overflow.
  if (offset >= columns || offset <= -rows) return 0;
  return offset >= 0 ? std::min(rows, columns - offset)
                     : std::min(rows + offset, columns);
}

}  // namespace

Tensor diagonal(const Tensor& x, std::int64_t offset, std::int64_t dim1,
                std::int64_t dim2) {
  autograd::check_defined(x, "diagonal");
  const std::size_t rank = x.shape().size();
  const std::size_t d1 = autograd::checked_dim(dim1, rank, "diagonal");
  const std::size_t d2 = autograd::checked_dim(dim2, rank, "diagonal");
  if (d1 == d2) {
    throw InvalidArgument(
        absl::StrCat("diagonal: dimension ", d1, " is named twice"));
  }
  const std::int64_t size = diagonal_size(x.shape()[d1], x.shape()[d2], offset);
  return strided_view(x, "DiagonalBackward", [&](const Dims& strides) {
    Geometry view{x.shape(), strides, 0};
    for (const std::size_t d : {std::max(d1, d2), std::min(d1, d2)}) {
      view.shape.erase(d);
      view.strides.erase(d);
    }
    view.shape.push_back(size);
    view.strides.push_back(strides[d1] + strides[d2]);
    if (size > 0) {
      view.offset = offset >= 0 ? offset * strides[d2] : -offset * strides[d1];
    }
    return view;
  });
}

Tensor unfold(const Tensor& x, std::int64_t dim, std::int64_t size,
              std::int64_t step) {
  autograd::check_defined(x, "unfold");
  // A scalar counts as [1].
  const std::size_t rank = x.shape().size();
  const std::size_t d =
      autograd::checked_dim(dim, std::max<std::size_t>(rank, 1), "unfold");
  const std::int64_t whole = rank == 0 ? 1 : x.shape()[d];
  if (size < 0 || size > whole || step <= 0) {
    throw InvalidArgument(absl::StrCat(
        "unfold: windows of ", size, " elements every ", step,
        " do not fit dimension ", d, " of shape ", x.shape().to_string()));
  }
  return strided_view(x, "UnfoldBackward", [&](const Dims& strides) {
    Geometry view{x.shape(), strides, 0};
    view.shape.push_back(size);
    view.strides.push_back(rank == 0 ? 1 : strides[d]);
    if (rank == 0) return view;
    view.shape[d] = (whole - size) / step + 1;
    // A longer step is never taken, and its stride could overflow.
    view.strides[d] *= std::min(step, std::max<std::int64_t>(whole, 1));
    return view;
  });
}

}  // namespace hvd
