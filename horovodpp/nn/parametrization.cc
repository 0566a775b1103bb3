// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/parametrization.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::nn {
namespace {

constexpr char kPart[] = "parametrizations";

auto named(std::vector<NamedTensor>& tensors, const std::string& name) {
  return std::find_if(tensors.begin(), tensors.end(),
                      [&](const NamedTensor& t) { return t.name == name; });
}

}  // namespace

// The child "parametrizations" of a module, with a child for each weight.
class Parametrization::All : public Module {
 public:
  struct Entry {
    std::string name;
    Tensor original;
    std::shared_ptr<Parametrization> parametrization;
  };

  // Not called: a container.
  Tensor forward(const Tensor& input) override { return input; }

  const Entry* find(const Tensor& original) const {
    const auto found = std::find_if(
        entries_.begin(), entries_.end(),
        [&](const Entry& entry) { return entry.original.is_same(original); });
    return found == entries_.end() ? nullptr : &*found;
  }

  void insert(Entry entry) {
    register_module(entry.name, entry.parametrization);
    entries_.push_back(std::move(entry));
  }

  // An entry without a parametrization if there is none of that name.
  Entry extract(const std::string& name) {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.name == name; });
    if (found == entries_.end()) return {};
    Entry entry = std::move(*found);
    entries_.erase(found);
    std::erase_if(modules_of(*this),
                  [&](const auto& child) { return child.first == name; });
    return entry;
  }

  bool empty() const { return entries_.empty(); }

 private:
  std::vector<Entry> entries_;
};

std::vector<std::pair<std::string, std::shared_ptr<Module>>>&
Parametrization::modules_of(Module& module) {
  return module.modules_;
}

Tensor Module::register_weight(const std::string& name, Tensor tensor) {
  Tensor registered = register_parameter(name, std::move(tensor));
  weights_.push_back(name);
  return registered;
}

Tensor Module::computed(const Tensor& weight) const {
  const auto& all =
      static_cast<const Parametrization::All&>(*parametrizations_);
  const Parametrization::All::Entry* entry = all.find(weight);
  return entry == nullptr ? weight : (*entry->parametrization)(weight);
}

Tensor Parametrization::weight_of(const Module& module,
                                  const std::string& name) {
  const auto& weights = module.weights_;
  if (std::find(weights.begin(), weights.end(), name) == weights.end()) {
    throw InvalidArgument(absl::StrCat(
        "'", name,
        "' of this module cannot be parametrized; \"weight\" of Linear, "
        "Bilinear and convolutions can"));
  }
  for (const NamedTensor& parameter : module.parameters_) {
    if (parameter.name == name) return parameter.tensor;
  }
  throw InvalidArgument(absl::StrCat(
      "'", name,
      "' is parametrized already; call remove_parametrization() first"));
}

void Parametrization::attach(Module& module, const std::string& name,
                             std::shared_ptr<Parametrization> parametrization) {
  const Tensor weight = weight_of(module, name);
  if (parametrization == nullptr) {
    throw InvalidArgument(
        absl::StrCat("the parametrization of '", name, "' is null"));
  }
  if (module.parametrizations_ == nullptr) {
    module.parametrizations_ =
        module.register_module(kPart, std::make_shared<All>());
  }
  parametrization->train(module.is_training());
  static_cast<All&>(*module.parametrizations_)
      .insert({name, weight, std::move(parametrization)});
  module.parameters_.erase(named(module.parameters_, name));
}

void Parametrization::remove(Module& module, const std::string& name) {
  All::Entry entry;
  auto* all = static_cast<All*>(module.parametrizations_.get());
  if (all != nullptr) entry = all->extract(name);
  if (entry.parametrization == nullptr) {
    throw InvalidArgument(
        absl::StrCat("'", name, "' of this module is not parametrized"));
  }
  module.parameters_.push_back({name, entry.original});
  if (all->empty()) {
    std::erase_if(module.modules_,
                  [](const auto& child) { return child.first == kPart; });
    module.parametrizations_ = nullptr;
  }
  NoGrad no_grad;
  entry.original.copy_((*entry.parametrization)(entry.original));
}

void remove_parametrization(Module& module, const std::string& name) {
  Parametrization::remove(module, name);
}

}  // namespace hvd::nn
