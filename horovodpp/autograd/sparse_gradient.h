// SPDX-License-Identifier: Apache-2.0
// Sparse gradients: of a table that a backward has looked up a few rows of, the
// gradient of these rows alone (hvd::nn::Embedding with .sparse).
//
//   table(tokens).sum().backward();
//   const hvd::SparseRows gradient =
//       hvd::autograd::sparse_grad(table.weight());
//
// A leaf's gradient is sparse as long as all that was added to it is: rows are then
// put one after the other. With a contribution that is not, such as that of tied
// weights, it becomes dense; so it is with create_graph, where it may be
// differentiated again, and as a result of autograd::grad(). Tensor::grad() of a
// sparse gradient is an error, so that nobody takes it for none. A hook of the leaf is
// given the values of the rows, and cannot replace them.
//
// Thread-safe as gradients are.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/sparse_rows.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// Whether `leaf` has a gradient, and it is sparse.
bool has_sparse_grad(const Tensor& leaf);
// That gradient; its rows may repeat.
//   InvalidArgument  it has none
SparseRows sparse_grad(const Tensor& leaf);
// Replaces the gradient, whatever it was.
//   InvalidArgument  the parts do not go together, or are of another shape or dtype
//                    than the leaf
void set_sparse_grad(const Tensor& leaf, const SparseRows& gradient);
// The gradient as a whole, or an undefined tensor: a copy of a sparse one.
Tensor dense_grad(const Tensor& leaf);

// Says that the gradient of `leaf` is a sparse one, also where no backward has
// reached it; what looks up rows of it sparsely says so. Ranks then send rows.
void expect_sparse_grad(const Tensor& leaf);
bool expects_sparse_grad(const Tensor& leaf);

// --- For the engine and for operations ---
// A sparse gradient on its way through the graph: its values, which know the rows.
// It goes to leaves only; whatever else gets it as a whole.
Tensor as_gradient(const SparseRows& rows);
bool is_sparse_gradient(const Tensor& gradient);
SparseRows rows_of(const Tensor& gradient);
// `gradient`, or what it is as a whole.
Tensor as_dense(const Tensor& gradient);
// a + b, one of which is sparse at least.
Tensor sum_with_sparse(const Tensor& a, const Tensor& b);
// The gradient of `leaf` as it is kept, sparse or not; or an undefined tensor.
Tensor kept_gradient(const Tensor& leaf);

}  // namespace autograd
}  // namespace hvd
