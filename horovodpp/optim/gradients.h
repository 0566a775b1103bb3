// SPDX-License-Identifier: Apache-2.0
// Operations on all gradients between backward and step: checks and scaling.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/optim/grouped_optimizer.h"
#include "horovodpp/tensor/tensor.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::optim {

// The gradients that exist, each once, though parameters may share one. Of
// sparse gradients, the values; their rows are unique from then on. In the
// order of the parameters: the order of addresses would make ranks add them up
// differently.
std::vector<Tensor> gradients_of(const std::vector<Tensor>& parameters);
std::vector<Tensor> gradients_of(
    const std::vector<nn::NamedTensor>& parameters);

struct GradientFindings {
  // Sum over all elements, in double.
  double squared_norm = 0.0;
  bool is_finite = true;
};

// A part of the elements of a gradient.
struct GradientPart {
  Tensor gradient;
  ElementRange elements;
};
std::vector<GradientPart> whole(const std::vector<Tensor>& gradients);
// Part `index` of `count` parts of about equal size.
GradientPart share_of(const Tensor& gradient, int index, int count);

// Checks the elements of `parts`. Reads them once.
GradientFindings look_at(const std::vector<GradientPart>& parts);

// Multiplies all elements by `factor`; `operation` is for errors.
void scale_gradients(const std::vector<GradientPart>& parts, double factor,
                     const char* operation);

// Calls change(elements, count) with all elements of `gradient` in one row.
template <typename Change>
void for_elements(const Tensor& gradient, const char* operation,
                  Change change) {
  const UpdateTarget target(gradient);
  autograd::visit_any_floating(
      gradient.dtype(), operation, [&]<typename T>(TypeTag<T>) {
        change(target.elements().data<T>(), gradient.num_elements());
      });
  target.finish();
}

// --- The step along a sparse gradient: rows in it move, and the other rows
// and their state stay ---

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
