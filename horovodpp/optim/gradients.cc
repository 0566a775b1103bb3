// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/gradients.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/core/error.h"
#include "horovodpp/optim/vector_updates.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/map.h"

namespace hvd::optim {
namespace {

template <typename T>
GradientFindings look_at_row(const T* elements, std::int64_t count) {
  GradientFindings findings = {.squared_norm = sum_of_squares(elements, count)};
  if (std::isfinite(findings.squared_norm)) return findings;
  // In float64, squares of finite elements may overflow.
  findings.is_finite = std::all_of(elements, elements + count, [](T element) {
    return std::isfinite(static_cast<double>(autograd::loaded(element)));
  });
  return findings;
}

// The first element of part `index`, of `count` parts.
std::int64_t part_begin(std::int64_t elements, int index, int count) {
  const std::int64_t whole = elements / count;
  return index * whole + std::min<std::int64_t>(index, elements % count);
}

}  // namespace

std::vector<Tensor> gradients_of(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> result;
  absl::flat_hash_set<const void*> seen;
  for (const Tensor& parameter : parameters) {
    if (autograd::has_sparse_grad(parameter)) {
      const SparseRows rows = coalesced(autograd::sparse_grad(parameter));
      autograd::set_sparse_grad(parameter, rows);
      if (rows.values.num_elements() > 0) result.push_back(rows.values);
      continue;
    }
    const Tensor grad = parameter.grad();
    if (grad.defined() && seen.insert(grad.impl()).second) {
      result.push_back(grad);
    }
  }
  return result;
}

std::vector<Tensor> gradients_of(
    const std::vector<nn::NamedTensor>& parameters) {
  std::vector<Tensor> tensors;
  tensors.reserve(parameters.size());
  for (const auto& [name, tensor] : parameters) tensors.push_back(tensor);
  return gradients_of(tensors);
}

std::vector<GradientPart> whole(const std::vector<Tensor>& gradients) {
  std::vector<GradientPart> parts;
  for (const Tensor& gradient : gradients) {
    parts.push_back({gradient, {0, gradient.num_elements()}});
  }
  return parts;
}

GradientPart share_of(const Tensor& gradient, int index, int count) {
  const std::int64_t elements = gradient.num_elements();
  return {gradient,
          {part_begin(elements, index, count),
           part_begin(elements, index + 1, count)}};
}

GradientFindings look_at(const std::vector<GradientPart>& parts) {
  GradientFindings all;
  for (const GradientPart& part : parts) {
    const UpdateTarget target(part.gradient);
    autograd::visit_any_floating(
        part.gradient.dtype(), "a gradient's norm",
        [&]<typename T>(TypeTag<T>) {
          const GradientFindings found =
              look_at_row(target.elements().data<T>() + part.elements.begin,
                          part.elements.count());
          all.squared_norm += found.squared_norm;
          all.is_finite = all.is_finite && found.is_finite;
        });
  }
  return all;
}

void scale_gradients(const std::vector<GradientPart>& parts, double factor,
                     const char* operation) {
  NoGrad no_grad;
  for (const GradientPart& part : parts) {
    for_elements(part.gradient, operation, [&](auto* elements, std::int64_t) {
      scale(elements + part.elements.begin, part.elements.count(), factor);
    });
  }
}

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
