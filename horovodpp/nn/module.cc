// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/module.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/accumulate_grad.h"
#include "horovodpp/autograd/graph/autograd_meta.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::nn {
namespace {

// Converts the elements of all handles to `tensor` to another dtype.
void convert(const NamedTensor& named, DType dtype) {
  const auto& [name, tensor] = named;
  if (!is_floating_point(tensor.dtype()) || tensor.dtype() == dtype) return;
  autograd::TensorImpl& impl = *tensor.impl();
  if (impl.meta != nullptr && impl.meta->base.defined()) {
    throw InvalidArgument(absl::StrCat(
        "'", name, "' cannot be converted in place: it is a view"));
  }
  if (autograd::existing_grad_accumulator(tensor)) {
    throw Error(absl::FailedPreconditionError(
        absl::StrCat("'", name,
                     "' cannot be converted: a graph that "
                     "depends on it is alive")));
  }
  const Tensor grad = autograd::kept_gradient(tensor);
  const Tensor converted = tensor.detach().to(dtype);
  impl.storage = converted.impl()->storage;
  impl.offset = converted.impl()->offset;
  impl.strides = converted.impl()->strides;
  impl.contiguous = converted.impl()->contiguous;
  impl.dtype = dtype;
  if (autograd::is_sparse_gradient(grad)) {
    SparseRows rows = autograd::rows_of(grad);
    rows.values = rows.values.to(dtype);
    autograd::set_sparse_grad(tensor, rows);
  } else if (grad.defined()) {
    tensor.set_grad(grad.detach().to(dtype));
  }
}

}  // namespace

Module::Module() = default;
Module::~Module() = default;

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

Tensor Module::register_buffer(const std::string& name, Tensor tensor,
                               bool persistent) {
  Tensor added = add_tensor(buffers_, name, std::move(tensor));
  if (!persistent) transient_.push_back(name);
  return added;
}

void Module::add_module(const std::string& name,
                        std::shared_ptr<Module> module) {
  check_name(name);
  if (module == nullptr) {
    throw InvalidArgument(absl::StrCat("module '", name, "' is null"));
  }
  modules_.emplace_back(name, std::move(module));
}

// Recursion is as deep as the nesting of the model.
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

std::vector<std::pair<std::string, std::shared_ptr<Module>>>
Module::named_children() const {
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> result;
  for (const auto& child : modules_) {
    const bool listed = std::any_of(
        result.begin(), result.end(),
        [&](const auto& seen) { return seen.second == child.second; });
    if (!listed) result.push_back(child);
  }
  return result;
}

std::vector<std::shared_ptr<Module>> Module::children() const {
  std::vector<std::shared_ptr<Module>> result;
  for (auto& [name, module] : named_children()) result.push_back(module);
  return result;
}

void Module::collect_modules(
    const std::string& name,
    std::vector<std::pair<std::string, Module*>>& out) {
  const bool listed = std::any_of(
      out.begin(), out.end(), [&](const auto& m) { return m.second == this; });
  if (listed) return;
  out.emplace_back(name, this);
  for (const auto& [part, module] : modules_) {
    module->collect_modules(name.empty() ? part : absl::StrCat(name, ".", part),
                            out);
  }
}

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> result;
  collect_modules("", result);
  return result;
}

Module& Module::apply(const std::function<void(Module&)>& visit) {
  for (const auto& module : children()) module->apply(visit);
  visit(*this);
  return *this;
}

Module& Module::requires_grad_(bool value) {
  for (Tensor& tensor : parameters()) tensor.set_requires_grad(value);
  return *this;
}

Module& Module::to(DType dtype) {
  if (!is_floating_point(dtype)) {
    throw InvalidArgument(absl::StrCat(
        "a module converts to floating point, not to ", name_of(dtype)));
  }
  NoGrad no_grad;
  for (const NamedTensor& named : named_parameters()) convert(named, dtype);
  for (const NamedTensor& named : named_buffers()) convert(named, dtype);
  return *this;
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
    const Tensor grad = autograd::kept_gradient(tensor);
    if (!grad.defined()) continue;
    if (set_to_none) {
      tensor.set_grad(Tensor());
    } else if (autograd::is_sparse_gradient(grad)) {
      autograd::set_sparse_grad(tensor,
                                no_rows(tensor.shape(), tensor.dtype()));
    } else if (grad.requires_grad()) {
      // Detached: a gradient with a history must not reach a later step.
      tensor.set_grad(grad.detach());
      tensor.grad().zero_();
    } else {
      grad.zero_();
    }
  }
}

}  // namespace hvd::nn
