// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/graph/sparse_gradient.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/autograd_meta.h"
#include "horovodpp/autograd/graph/graph_ops.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::autograd {

Tensor as_gradient(const SparseRows& rows) {
  Tensor carrier = rows.values.detach();
  meta_of(carrier).places =
      std::make_unique<SparsePlaces>(SparsePlaces{rows.rows, rows.shape});
  return carrier;
}

bool is_sparse_gradient(const Tensor& gradient) {
  const TensorImpl* impl = gradient.impl();
  return impl != nullptr && impl->meta != nullptr &&
         impl->meta->places != nullptr;
}

SparseRows rows_of(const Tensor& gradient) {
  const SparsePlaces& places = *gradient.impl()->meta->places;
  return {places.rows, gradient.detach(), places.shape};
}

Tensor as_dense(const Tensor& gradient) {
  return is_sparse_gradient(gradient) ? dense(rows_of(gradient)) : gradient;
}

Tensor sum_with_sparse(const Tensor& a, const Tensor& b) {
  if (is_sparse_gradient(a) && is_sparse_gradient(b)) {
    const SparseRows both = joined(rows_of(a), rows_of(b));
    // Keeps repeated backward calls from holding more rows than the table has.
    return as_gradient(
        both.rows.num_elements() > both.shape[0] ? coalesced(both) : both);
  }
  return add(as_dense(a), as_dense(b));
}

Tensor kept_gradient(const Tensor& leaf) {
  const TensorImpl* impl = leaf.impl();
  return impl == nullptr || impl->meta == nullptr ? Tensor() : impl->meta->grad;
}

bool has_sparse_grad(const Tensor& leaf) {
  return is_sparse_gradient(kept_gradient(leaf));
}

SparseRows sparse_grad(const Tensor& leaf) {
  const Tensor kept = kept_gradient(leaf);
  if (!is_sparse_gradient(kept)) {
    throw InvalidArgument(absl::StrCat(
        "sparse_grad: the ", leaf.describe(), " has ",
        kept.defined() ? "a gradient that is not sparse" : "no gradient"));
  }
  return rows_of(kept);
}

void set_sparse_grad(const Tensor& leaf, const SparseRows& gradient) {
  check_sparse_rows(gradient, "set_sparse_grad");
  if (gradient.shape != leaf.shape() ||
      gradient.values.dtype() != leaf.dtype()) {
    throw InvalidArgument(
        absl::StrCat("set_sparse_grad: rows of ", gradient.shape.to_string(),
                     " with values ", gradient.values.describe(),
                     " do not fit a ", leaf.describe()));
  }
  meta_of(leaf).grad = as_gradient(gradient);
}

Tensor dense_grad(const Tensor& leaf) { return as_dense(kept_gradient(leaf)); }

void expect_sparse_grad(const Tensor& leaf) {
  meta_of(leaf).expects_sparse = true;
}

bool expects_sparse_grad(const Tensor& leaf) {
  const TensorImpl* impl = leaf.impl();
  return impl != nullptr && impl->meta != nullptr && impl->meta->expects_sparse;
}

}  // namespace hvd::autograd
