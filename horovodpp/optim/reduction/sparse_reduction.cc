// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/reduction/sparse_reduction.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/reduce_arithmetic.h"
#include "horovodpp/optim/gradients.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::optim {
namespace {

Tensor tensor_of(const Buffer& buffer) {
  return from_blob(buffer.view().data(), autograd::Dims(buffer.shape()),
                   buffer.dtype(), [buffer](void*) {});
}

}  // namespace

bool is_sparse_parameter(const Tensor& parameter) {
  return autograd::expects_sparse_grad(parameter) ||
         autograd::has_sparse_grad(parameter);
}

void check_sparse_op(const std::vector<nn::NamedTensor>& parameters,
                     ReduceOp op) {
  if (describe(op).linear) return;
  for (const auto& [name, tensor] : parameters) {
    if (!is_sparse_parameter(tensor)) continue;
    throw InvalidArgument(absl::StrCat(
        "the sparse gradient of '", name, "' cannot be reduced with op ",
        name_of(op), "; use average or sum, or sparse_as_dense"));
  }
}

void make_sparse(const Tensor& parameter) {
  const Tensor kept = autograd::kept_gradient(parameter);
  if (autograd::is_sparse_gradient(kept)) {
    autograd::set_sparse_grad(parameter, coalesced(autograd::rows_of(kept)));
  } else {
    autograd::set_sparse_grad(
        parameter, kept.defined()
                       ? all_rows(kept)
                       : no_rows(parameter.shape(), parameter.dtype()));
  }
}

Tensor dense_gradient(const Tensor& parameter) {
  Tensor gradient = autograd::kept_gradient(parameter);
  if (!gradient.defined()) {
    gradient = zeros(parameter.shape(), {.dtype = parameter.dtype()});
  } else if (autograd::is_sparse_gradient(gradient)) {
    gradient = autograd::as_dense(gradient);
  } else if (gradient.is_contiguous()) {
    return gradient;
  } else {
    gradient = gradient.contiguous();
  }
  parameter.set_grad(gradient);
  return gradient;
}

void take_gathered(const Tensor& parameter,
                   const replica::GatheredRows& gathered) {
  const SparseRows all = {tensor_of(gathered.rows), tensor_of(gathered.values),
                          parameter.shape()};
  check_sparse_rows(all, "what ranks sent of a sparse gradient");
  const SparseRows sums = coalesced(all);
  if (gathered.factor != 1.0 && sums.values.num_elements() > 0) {
    scale_gradients(whole({sums.values}), gathered.factor, "a sparse gradient");
  }
  autograd::set_sparse_grad(parameter, sums);
}

}  // namespace hvd::optim
