// SPDX-License-Identifier: Apache-2.0
// SparseRows is a tensor in which only some rows are nonzero, such as the
// gradient of a table after the lookup of a few rows:
//
//   const hvd::SparseRows some = {
//       .rows = hvd::from_vector<std::int64_t>({7, 2, 7}, {3}),
//       .values = hvd::ones({3, 128}),
//       .shape = {50000, 128}};
//   hvd::coalesced(some);   // Rows 2 and 7; row 7 has the value 2.
//   hvd::dense(some);       // float32[50000, 128]
//
// A value type; copies share the tensors. Graphs record nothing here.
// Thread-safe while no thread writes to the tensors.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct SparseRows {
  Tensor rows;           // int64[n]; a repeated row adds up.
  Tensor values;         // [n, ...], of a floating-point dtype, contiguous.
  autograd::Dims shape;  // [number of rows, ...]
};

// No rows, of a tensor with this shape and dtype.
SparseRows no_rows(const autograd::Dims& shape, DType dtype);
// All rows of `x`, or its rows that are not entirely 0.
SparseRows all_rows(const Tensor& x);
SparseRows nonzero_rows(const Tensor& x);

// The same tensor with each row once, in ascending order. Values of a row are
// added in their order, 16-bit values in float32. Returns `x` itself if it
// already has that form.
SparseRows coalesced(const SparseRows& x);

// a + b, by concatenation of the rows.
//   InvalidArgument  shape or dtype differ
SparseRows joined(const SparseRows& a, const SparseRows& b);

// The full tensor.
Tensor dense(const SparseRows& x);

// Throws InvalidArgument unless the parts match and each row is in range;
// `what` is for the message.
void check_sparse_rows(const SparseRows& x, const char* what);

}  // namespace hvd
