// SPDX-License-Identifier: Apache-2.0
// Operations on all gradients between backward and step: checks and scaling.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace hvd::optim
