// SPDX-License-Identifier: Apache-2.0
// The step of an optimizer along a sparse gradient: rows in the gradient move,
// and the other rows and their state stay.
#pragma once

#include <cstdint>

#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/tensor/tensor.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::optim {

// The gradient of `parameter`, with unique rows.
//   InvalidArgument  the parameter does not lie row by row in memory
SparseRows rows_to_move(const Tensor& parameter, const char* optimizer);

// Throws InvalidArgument if the gradient is sparse; `remedy` is the advice in
// the message.
void refuse_sparse(const Tensor& parameter, const char* optimizer,
                   const char* remedy);

// Calls move(offset, gradient, width) for each row: `width` elements from
// `offset` on in the parameter and in its state, and their gradient, a const
// T*.
template <typename T, typename Move>
void for_rows(const SparseRows& gradient, Move move) {
  const std::int64_t count = gradient.rows.num_elements();
  const std::int64_t width =
      count > 0 ? gradient.values.num_elements() / count : 0;
  const auto* rows = gradient.rows.data<std::int64_t>();
  const T* values = gradient.values.template data<T>();
  for (std::int64_t i = 0; i < count; ++i) {
    move(rows[i] * width, values + i * width, width);
  }
}

}  // namespace hvd::optim
