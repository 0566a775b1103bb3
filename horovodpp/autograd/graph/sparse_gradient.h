// SPDX-License-Identifier: Apache-2.0
// Sparse gradients: after lookups of a few rows of a table, backward gives the
// gradient of these rows only (hvd::nn::Embedding with .sparse).
//
//   table(tokens).sum().backward();
//   const hvd::SparseRows gradient =
//       hvd::autograd::sparse_grad(table.weight());
//
// A leaf's gradient stays sparse while all contributions are sparse: the rows
// are concatenated. It becomes dense
// - with a dense contribution, such as that of tied weights,
// - with create_graph, where it may be differentiated again,
// - as a result of autograd::grad().
//
// Tensor::grad() of a sparse gradient is an error, so that it is not mistaken
// for a missing gradient. A hook of the leaf sees the values of the rows and
// cannot replace them.
//
// Thread-safe as gradients are.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/sparse_rows.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// Whether `leaf` has a gradient that is sparse.
bool has_sparse_grad(const Tensor& leaf);
// The sparse gradient; its rows may repeat.
//   InvalidArgument  the leaf has no sparse gradient
SparseRows sparse_grad(const Tensor& leaf);
// Replaces the gradient, dense or sparse.
//   InvalidArgument  the parts are inconsistent, or differ from the leaf in
//                    shape or dtype
void set_sparse_grad(const Tensor& leaf, const SparseRows& gradient);
// The gradient, with a sparse one copied to a dense tensor; may be undefined.
Tensor dense_grad(const Tensor& leaf);

// Declares that the gradient of `leaf` is sparse, even where no backward has
// reached the leaf. Sparse lookups of rows call it. Ranks then send rows.
void expect_sparse_grad(const Tensor& leaf);
bool expects_sparse_grad(const Tensor& leaf);

// --- For the engine and for operations ---
// A sparse gradient inside the graph: its values, with the row numbers
// attached. Only leaves receive it; other nodes get the dense gradient.
Tensor as_gradient(const SparseRows& rows);
bool is_sparse_gradient(const Tensor& gradient);
SparseRows rows_of(const Tensor& gradient);
// `gradient`, made dense.
Tensor as_dense(const Tensor& gradient);
// a + b, where at least one is sparse.
Tensor sum_with_sparse(const Tensor& a, const Tensor& b);
// The stored gradient of `leaf`, sparse or not; may be undefined.
Tensor kept_gradient(const Tensor& leaf);

}  // namespace autograd
}  // namespace hvd
