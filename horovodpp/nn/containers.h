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

// Returns its input.
class Identity : public Module {
 public:
  Tensor forward(const Tensor& input) override { return input; }
};

// ParameterList: parameters named "0", "1", …; ParameterDict: parameters by
// name. Neither can be called.
class ParameterList : public Module {
 public:
  //   InvalidArgument  a tensor is undefined
  explicit ParameterList(const std::vector<Tensor>& tensors = {}) {
    for (const Tensor& tensor : tensors) push_back(tensor);
  }
  void push_back(const Tensor& tensor) {
    list_.push_back(register_parameter(std::to_string(list_.size()), tensor));
  }

  std::size_t size() const { return list_.size(); }
  //   InvalidArgument  the index is out of range
  const Tensor& operator[](std::size_t i) const {
    if (i >= list_.size()) {
      throw InvalidArgument("parameter " + std::to_string(i) +
                            " of a list of " + std::to_string(list_.size()));
    }
    return list_[i];
  }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

  //   InvalidArgument  always
  Tensor forward(const Tensor&) override {
    throw InvalidArgument("a ParameterList is not called");
  }

 private:
  std::vector<Tensor> list_;
};

class ParameterDict : public Module {
 public:
  //   InvalidArgument  the name is taken, empty or has a dot; the tensor is
  //                    undefined
  void insert(const std::string& name, const Tensor& tensor) {
    names_.push_back({name, register_parameter(name, tensor)});
  }
  //   InvalidArgument  there is no such parameter
  const Tensor& operator[](const std::string& name) const {
    for (const NamedTensor& entry : names_) {
      if (entry.name == name) return entry.tensor;
    }
    throw InvalidArgument("a ParameterDict has no '" + name + "'");
  }
  std::size_t size() const { return names_.size(); }
  auto begin() const { return names_.begin(); }
  auto end() const { return names_.end(); }

  //   InvalidArgument  always
  Tensor forward(const Tensor&) override {
    throw InvalidArgument("a ParameterDict is not called");
  }

 private:
  std::vector<NamedTensor> names_;
};

// ModuleDict: modules by name, in order of insertion, for a module that calls
// them in its own way.
template <typename M = Module>
class ModuleDict : public Module {
 public:
  //   InvalidArgument  the name is taken, empty or has a dot; the module is null
  void insert(const std::string& name, std::shared_ptr<M> module) {
    modules_.push_back({name, register_module(name, std::move(module))});
  }
  bool contains(const std::string& name) const { return find(name) != nullptr; }
  //   InvalidArgument  there is no such module
  M& operator[](const std::string& name) const {
    M* const found = find(name);
    if (found == nullptr) {
      throw InvalidArgument("a ModuleDict has no '" + name + "'");
    }
    return *found;
  }
  std::size_t size() const { return modules_.size(); }
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }

  //   InvalidArgument  always
  Tensor forward(const Tensor&) override {
    throw InvalidArgument("a ModuleDict is not called; its modules are");
  }

 private:
  M* find(const std::string& name) const {
    for (const auto& [known, module] : modules_) {
      if (known == name) return module.get();
    }
    return nullptr;
  }

  std::vector<std::pair<std::string, std::shared_ptr<M>>> modules_;
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
