#include "horovodpp/nn/module.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/error.h"
#include "horovodpp/autograd/thread_state.h"

namespace hvd::nn {

void Module::check_name(const std::string& name) const {
  if (name.empty() || name.find('.') != std::string::npos) {
    throw InvalidArgument(absl::StrCat(
        "'", name,
        "' cannot name a part of a module: a name has no dot and is "
        "not empty"));
  }
  const auto has_name = [&](const NamedTensor& t) { return t.name == name; };
  const bool taken =
      std::any_of(parameters_.begin(), parameters_.end(), has_name) ||
      std::any_of(buffers_.begin(), buffers_.end(), has_name) ||
      std::any_of(modules_.begin(), modules_.end(),
                  [&](const auto& m) { return m.first == name; });
  if (taken) {
    throw InvalidArgument(
        absl::StrCat("a module has two parts named '", name, "'"));
  }
}

Tensor Module::add_tensor(std::vector<NamedTensor>& list,
                          const std::string& name, Tensor tensor) {
  check_name(name);
  if (!tensor.defined()) {
    throw InvalidArgument(
        absl::StrCat("'", name, "' of a module is an undefined tensor"));
  }
  list.push_back({name, tensor});
  return tensor;
}

Tensor Module::register_parameter(const std::string& name, Tensor tensor) {
  return add_tensor(parameters_, name, std::move(tensor));
}

Tensor Module::register_buffer(const std::string& name, Tensor tensor) {
  return add_tensor(buffers_, name, std::move(tensor));
}

void Module::add_module(const std::string& name,
                        std::shared_ptr<Module> module) {
  check_name(name);
  if (module == nullptr) {
    throw InvalidArgument(absl::StrCat("module '", name, "' is null"));
  }
  modules_.emplace_back(name, std::move(module));
}

// As deep as the model is nested.
void Module::collect(Tensors member, const std::string& prefix,
                     std::vector<NamedTensor>& out) const {
  for (const auto& [name, tensor] : this->*member) {
    const bool listed = std::any_of(
        out.begin(), out.end(),
        [&, &t = tensor](const auto& seen) { return seen.tensor.is_same(t); });
    if (!listed) out.push_back({prefix + name, tensor});
  }
  for (const auto& [name, module] : modules_) {
    module->collect(member, absl::StrCat(prefix, name, "."), out);
  }
}

std::vector<NamedTensor> Module::named_parameters() const {
  std::vector<NamedTensor> result;
  collect(&Module::parameters_, "", result);
  return result;
}

std::vector<NamedTensor> Module::named_buffers() const {
  std::vector<NamedTensor> result;
  collect(&Module::buffers_, "", result);
  return result;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> result;
  for (auto& [name, tensor] : named_parameters()) result.push_back(tensor);
  return result;
}

void Module::train(bool training) {
  training_ = training;
  for (auto& [name, module] : modules_) module->train(training);
}

void Module::zero_grad(bool set_to_none) const {
  nn::zero_grad(named_parameters(), set_to_none);
}

void zero_grad(const std::vector<NamedTensor>& tensors, bool set_to_none) {
  NoGrad no_grad;
  for (const auto& [name, tensor] : tensors) {
    const Tensor grad = tensor.grad();
    if (!grad.defined()) continue;
    if (set_to_none) {
      tensor.set_grad(Tensor());
    } else if (grad.requires_grad()) {
      // It has a history, which a later step must not see.
      tensor.set_grad(grad.detach());
      tensor.grad().zero_();
    } else {
      grad.zero_();
    }
  }
}

}  // namespace hvd::nn
