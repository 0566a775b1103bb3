// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/optimizer.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/core/error.h"

namespace hvd::optim {

std::vector<nn::NamedTensor> numbered(const std::vector<Tensor>& tensors) {
  std::vector<nn::NamedTensor> result;
  for (const Tensor& tensor : tensors) {
    result.push_back({std::to_string(result.size()), tensor});
  }
  return result;
}

Optimizer::Optimizer(std::vector<nn::NamedTensor> parameters)
    : parameters_(std::move(parameters)) {
  if (parameters_.empty()) {
    throw InvalidArgument("an optimizer got an empty list of parameters");
  }
  absl::flat_hash_set<std::string> names;
  absl::flat_hash_set<const void*> seen;
  for (const auto& [name, tensor] : parameters_) {
    if (!tensor.defined() || !tensor.is_leaf()) {
      throw InvalidArgument(absl::StrCat(
          "an optimizer cannot move '", name,
          tensor.defined() ? "': it is no leaf, an operation made it"
                           : "': it is undefined"));
    }
    if (!names.insert(name).second || !seen.insert(tensor.impl()).second) {
      throw InvalidArgument(
          absl::StrCat("an optimizer got parameter '", name, "' twice"));
    }
  }
}

// Parameters without a gradient stay unchanged.
void Optimizer::step_of(std::size_t index) {
  std::vector<Tensor> aside(parameters_.size());
  for (std::size_t i = 0; i < aside.size(); ++i) {
    if (i == index) continue;
    aside[i] = autograd::kept_gradient(parameters_[i].tensor);
    parameters_[i].tensor.set_grad(Tensor());
  }
  const auto put_back = [&] {
    for (std::size_t i = 0; i < aside.size(); ++i) {
      if (i != index) parameters_[i].tensor.set_grad(aside[i]);
    }
  };
  try {
    step();
  } catch (...) {
    put_back();
    throw;
  }
  put_back();
}

void Optimizer::zero_grad(bool set_to_none) {
  nn::zero_grad(parameters_, set_to_none);
}

}  // namespace hvd::optim
