// SPDX-License-Identifier: Apache-2.0
// The names of an optimizer's parameters, by which ranks match them.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/broadcast.h"
#include "horovodpp/libtorch/error.h"
#include "horovodpp/libtorch/wrapped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

class ParameterNames {
 public:
  // Names by the group's number and the place in it.
  explicit ParameterNames(const WrappedOptimizer& optimizer) {
    number_others(optimizer);
  }
  // `named` has all parameters that the optimizer has so far.
  ParameterNames(const WrappedOptimizer& optimizer, const NamedTensors& named) {
    for (const auto& item : named) {
      names_.emplace(item.value().unsafeGetTensorImpl(), item.key());
    }
    for (const torch::Tensor& parameter : optimizer.parameters()) {
      if (find(parameter) != nullptr) continue;
      refuse(
          "named_parameters were given, but one or more parameters of the "
          "optimizer are not among them: pass model->named_parameters()");
    }
  }

  // Numbers parameters that were added later.
  void number_others(const WrappedOptimizer& optimizer) {
    const auto& groups = optimizer->param_groups();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const std::vector<torch::Tensor>& members = groups[i].params();
      for (std::size_t j = 0; j < members.size(); ++j) {
        std::string& name = names_[members[j].unsafeGetTensorImpl()];
        if (!name.empty()) continue;
        name = "noname." + std::to_string(i) + "." + std::to_string(j);
      }
    }
  }

  // Null: it has no name.
  const std::string* find(const torch::Tensor& parameter) const {
    const auto found = names_.find(parameter.unsafeGetTensorImpl());
    return found == names_.end() ? nullptr : &found->second;
  }
  const std::string& of(const torch::Tensor& parameter) const {
    return names_.at(parameter.unsafeGetTensorImpl());
  }

 private:
  std::unordered_map<const void*, std::string> names_;  // By tensor.
};

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
