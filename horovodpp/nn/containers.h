// SPDX-License-Identifier: Apache-2.0
// Modules made of other modules.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

// Sequential: a chain of modules, each fed with the output of the one before.
//
//   auto model = std::make_shared<hvd::nn::Sequential>(
//       std::make_shared<hvd::nn::Linear>(784, 128),
//       std::make_shared<hvd::nn::ReLU>(),
//       std::make_shared<hvd::nn::Linear>(128, 10));
//
// The modules are named "0", "1", ….

class Sequential : public Module {
 public:
  explicit Sequential(std::vector<std::shared_ptr<Module>> modules);

  template <typename... M>
  requires(std::derived_from<M, Module>&&...) explicit Sequential(
      std::shared_ptr<M>... modules)
      : Sequential(
            std::vector<std::shared_ptr<Module>>{std::move(modules)...}) {}

  Tensor forward(const Tensor& input) override;

  const std::vector<std::shared_ptr<Module>>& modules() const {
    return modules_;
  }

 private:
  std::vector<std::shared_ptr<Module>> modules_;
};

// ModuleList: modules named "0", "1", …, for a module that calls them in its
// own way; the list itself cannot be called.
//
//   auto blocks = register_module("blocks",
//                                 std::make_shared<hvd::nn::ModuleList<Block>>());
//   for (int i = 0; i < 4; ++i) blocks->push_back(std::make_shared<Block>(128));
//   for (const auto& block : *blocks) x = (*block)(x);

template <typename M = Module>
class ModuleList : public Module {
 public:
  ModuleList() = default;
  //   InvalidArgument  a module is null
  explicit ModuleList(std::vector<std::shared_ptr<M>> modules) {
    for (auto& module : modules) push_back(std::move(module));
  }

  //   InvalidArgument  the module is null
  void push_back(std::shared_ptr<M> module) {
    list_.push_back(
        register_module(std::to_string(list_.size()), std::move(module)));
  }

  std::size_t size() const { return list_.size(); }
  //   InvalidArgument  the index is out of range
  M& operator[](std::size_t i) const {
    if (i >= list_.size()) {
      throw InvalidArgument("module " + std::to_string(i) + " of a list of " +
                            std::to_string(list_.size()));
    }
    return *list_[i];
  }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

  //   InvalidArgument  always
  Tensor forward(const Tensor&) override {
    throw InvalidArgument("a ModuleList is not called; its modules are");
  }

 private:
  std::vector<std::shared_ptr<M>> list_;
};

}  // namespace nn
}  // namespace hvd
