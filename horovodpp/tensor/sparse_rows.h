// SPDX-License-Identifier: Apache-2.0
// SparseRows is a tensor of which only some rows are not 0, such as the gradient of
// a table that a batch has looked up a few rows of:
//
//   const hvd::SparseRows some = {
//       .rows = hvd::from_vector<std::int64_t>({7, 2, 7}, {3}),
//       .values = hvd::ones({3, 128}),
//       .shape = {50000, 128}};
//   hvd::coalesced(some);   // Rows 2 and 7, the second of which is 2.
//   hvd::dense(some);       // float32[50000, 128]
//
// A value; copies share the tensors. Nothing here is recorded by graphs. Thread-safe
// as long as nobody writes to the tensors.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct SparseRows {
  Tensor rows;           // int64[n]; one that is there twice counts twice.
  Tensor values;         // [n, ...], of a floating-point dtype, contiguous.
  autograd::Dims shape;  // [number of rows, ...]
};

// None of the rows of a tensor of this shape and dtype.
SparseRows no_rows(const autograd::Dims& shape, DType dtype);
// All rows of `x`, or those that are not entirely 0.
SparseRows all_rows(const Tensor& x);
SparseRows nonzero_rows(const Tensor& x);

// The same with each row once, in ascending order: its values added up in the order
// in which they come; 16-bit ones in float32. One that is so already is returned as
// it is.
SparseRows coalesced(const SparseRows& x);

// a + b: the rows of one after the other's.
//   InvalidArgument  shape or dtype differ
SparseRows joined(const SparseRows& a, const SparseRows& b);

// The whole tensor.
Tensor dense(const SparseRows& x);

// Throws InvalidArgument unless the parts go together and each row is one of the
// shape's; `what` is for the message.
void check_sparse_rows(const SparseRows& x, const char* what);

}  // namespace hvd
