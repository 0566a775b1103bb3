// SPDX-License-Identifier: Apache-2.0
// A libtorch optimizer that another one wraps: a reference, or an owned
// optimizer.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/optim/optimizer.h>
#include <torch/types.h>

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

class WrappedOptimizer {
  // For rvalues, which are moved in.
  template <typename Wrapped>
  using IfOptimizer =
      std::enable_if_t<std::is_base_of_v<torch::optim::Optimizer, Wrapped>>;

 public:
  WrappedOptimizer(torch::optim::Optimizer& elsewhere)
      : optimizer_(std::shared_ptr<void>(), &elsewhere) {}
  template <typename Wrapped, typename = IfOptimizer<Wrapped>>
  WrappedOptimizer(Wrapped&& taken)
      : optimizer_(std::make_shared<Wrapped>(std::move(taken))) {}
  template <typename Wrapped, typename = IfOptimizer<Wrapped>>
  WrappedOptimizer(std::shared_ptr<Wrapped> shared)
      : optimizer_(std::move(shared)) {}

  torch::optim::Optimizer& operator*() const { return *optimizer_; }
  torch::optim::Optimizer* operator->() const { return optimizer_.get(); }

  // The parameters of all its groups, in order.
  std::vector<torch::Tensor> parameters() const {
    std::vector<torch::Tensor> all;
    for (const auto& group : optimizer_->param_groups()) {
      all.insert(all.end(), group.params().begin(), group.params().end());
    }
    return all;
  }

  // A step of this parameter alone.
  void step_of(const torch::Tensor& parameter) const {
    auto& groups = optimizer_->param_groups();
    std::vector<std::vector<torch::Tensor>> all;
    for (auto& group : groups) {
      all.push_back(std::exchange(group.params(), {}));
      for (const torch::Tensor& member : all.back()) {
        if (member.is_same(parameter)) group.params().push_back(member);
      }
    }
    const auto restore = [&] {
      for (std::size_t i = 0; i < groups.size(); ++i) {
        groups[i].params() = std::move(all[i]);
      }
    };
    try {
      optimizer_->step();
    } catch (...) {
      restore();
      throw;
    }
    restore();
  }

 private:
  std::shared_ptr<torch::optim::Optimizer> optimizer_;
};

}  // namespace libtorch
}  // namespace hvd
