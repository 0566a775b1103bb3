// SPDX-License-Identifier: Apache-2.0
// Views, parts, copies and moves of elements.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/autograd/graph/graph_ops.h"  // IWYU pragma: export
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/dims.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

// Views: the same memory in another shape. Views and their base see each
// other's writes.

// The same elements, in row-major order, in another shape; one -1 is inferred.
// A view if the strides allow, else a copy.
Tensor reshape(const Tensor& x, const autograd::Dims& shape);
// As reshape(), but throws InvalidArgument instead of copying.
Tensor view(const Tensor& x, const autograd::Dims& shape);
Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1);
// Dimension i of the result is dimension order[i] of x.
Tensor permute(const Tensor& x, const autograd::Dims& order);
// x repeated to a larger shape without a copy; -1 keeps the size of x.
Tensor expand(const Tensor& x, const autograd::Dims& shape);
// Drops a dimension of size 1; keeps any other.
Tensor squeeze(const Tensor& x, std::int64_t dim);
Tensor unsqueeze(const Tensor& x, std::int64_t dim);  // Inserts a 1.

namespace autograd {

// `made`, an intermediate result without other owners, in another shape. For
// graphs the result is no view.
Tensor resized(const Tensor& made, const Dims& shape);
// `made` without dimension `dim`, of size 1; no view for graphs.
Tensor without(const Tensor& made, std::int64_t dim);

}  // namespace autograd

// Views of a part of one dimension.

// Elements [start, start + length) of a dimension; a negative start counts from
// its end.
Tensor narrow(const Tensor& x, std::int64_t dim, std::int64_t start,
              std::int64_t length);
// Element `index` of a dimension, which is dropped.
Tensor select(const Tensor& x, std::int64_t dim, std::int64_t index);

// Every step-th element of [start, end), clipped to the dimension; negative
// bounds count from the end. step > 0.
Tensor slice(const Tensor& x, std::int64_t dim, std::int64_t start,
             std::int64_t end, std::int64_t step = 1);

// Splitting and joining tensors. The parts of one split are views; as several
// results of one operation, they must not be written in place while recorded.

// Parts of these sizes, which must add up to the size of `dim`.
std::vector<Tensor> split(const Tensor& x,
                          const std::vector<std::int64_t>& sizes,
                          std::int64_t dim = 0);
// Parts of `size`; the last may be smaller. An empty dimension gives one part.
std::vector<Tensor> split(const Tensor& x, std::int64_t size,
                          std::int64_t dim = 0);
// At most `chunks` parts, equal except the last. An empty dimension gives
// `chunks` parts.
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks,
                          std::int64_t dim = 0);
// Every element of a dimension, which is dropped.
std::vector<Tensor> unbind(const Tensor& x, std::int64_t dim = 0);
// Concatenates along a dimension; other sizes must match.
Tensor cat(const std::vector<Tensor>& tensors, std::int64_t dim = 0);
// Joins along a new dimension; all shapes must match.
Tensor stack(const std::vector<Tensor>& tensors, std::int64_t dim = 0);

// Copies of tensors, also to another dtype. (clone_with_strides() in
// graph_ops.h copies to other strides.)

// x in another dtype; x itself if the dtype is the same.
Tensor to(const Tensor& x, DType dtype);
// x, or a copy of it on `device`, in x's order of dimensions. Copies from and to
// the CPU are done when it returns (Transfer, tensor.h, says when not); those
// between GPUs are in the order of this thread's streams. A gradient comes back
// to the device of x.
//   hvd::Error (NotFound, FailedPrecondition)  there is no driver or no GPU
//   hvd::Error (ResourceExhausted)             the GPU has not enough memory
Tensor to(const Tensor& x, Device device, const Transfer& options = {});
// A row-major copy.
Tensor clone(const Tensor& x);

// Operations that move elements: roll, pad and flip.

// x rotated along dimensions: y[i + shift] = x[i], with indices modulo the
// size.
//   InvalidArgument  the numbers of shifts and dims differ
Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts,
            const autograd::Dims& dims);

// x with `value` around it: widths are {left, right} of the last dimension,
// then of the one before, and so on. Negative widths crop.
//   InvalidArgument  a crop exceeds its dimension, or the number of widths is
//                    odd or too large
Tensor pad(const Tensor& x, const std::vector<std::int64_t>& widths,
           double value = 0.0);

// x in reverse order along dimensions.
Tensor flip(const Tensor& x, const autograd::Dims& dims);

}  // namespace hvd
