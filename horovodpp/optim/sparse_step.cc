// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/sparse_step.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/invalid_argument.h"

namespace hvd::optim {

SparseRows rows_to_move(const Tensor& parameter, const char* optimizer) {
  if (!parameter.is_contiguous()) {
    throw InvalidArgument(
        absl::StrCat(optimizer, ": a ", parameter.describe(),
                     " with a sparse gradient must lie row by row in memory"));
  }
  return coalesced(autograd::sparse_grad(parameter));
}

void refuse_sparse(const Tensor& parameter, const char* optimizer,
                   const char* remedy) {
  if (!autograd::has_sparse_grad(parameter)) return;
  throw InvalidArgument(absl::StrCat(optimizer,
                                     " does not go along the sparse "
                                     "gradient of a ",
                                     parameter.describe(), "; ", remedy,
                                     ", or look rows up without .sparse"));
}

}  // namespace hvd::optim
