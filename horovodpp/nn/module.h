// SPDX-License-Identifier: Apache-2.0
// A Module is a part of a model. It holds parameters (learned), buffers (not
// learned) and other modules, and computes an output from an input.
//
//   struct Net : hvd::nn::Module {
//     hvd::Tensor forward(const hvd::Tensor& x) override { return (*fc)(x); }
//     std::shared_ptr<hvd::nn::Linear> fc =
//         register_module("fc", std::make_shared<hvd::nn::Linear>(784, 10));
//   };
//   Net net;
//   for (auto& [name, tensor] : net.named_parameters()) …   // "fc.weight", …
//   net.save("net.safetensors");
//
// operator() calls a module: it runs hooks (module_hooks.h) and forward().
// Several threads may call a module, unless one changes it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/state_dict.h"
#include "horovodpp/tensor/base/hook_handle.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct CheckpointOptions;

namespace nn {

class ModuleHooks;
class Parametrization;

class Module {
 public:
  virtual ~Module();
  Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  virtual Tensor forward(const Tensor& input) = 0;
  Tensor operator()(const Tensor& input) {
    return hooks_ == nullptr ? forward(input) : call_with_hooks(input);
  }

  // In order of registration, a module's own tensors before its children's.
  // Names are dotted: "features.0.weight". A tensor registered several times is
  // listed once, under its first name.
  std::vector<NamedTensor> named_parameters() const;
  std::vector<NamedTensor> named_buffers() const;
  std::vector<Tensor> parameters() const;

  // The direct children; or, in named_modules(), this module, named "", and all
  // its descendants. Order and names as above. Each module is listed once.
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> named_children()
      const;
  std::vector<std::shared_ptr<Module>> children() const;
  std::vector<std::pair<std::string, Module*>> named_modules();

  // Calls `visit` for all descendants, then for this module.
  Module& apply(const std::function<void(Module&)>& visit);

  // Training is the default; some modules behave differently in evaluation. The
  // mode does not affect whether gradients are recorded.
  void train(bool training = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }

  // Whether and how calls of this module are checkpointed: see checkpoint.h.
  // Null: not checkpointed.
  void set_checkpoint(const CheckpointOptions* options);
  bool is_checkpointed() const;

  // Drops the gradients of all parameters, or fills them with zeros.
  void zero_grad(bool set_to_none = true) const;

  // Sets whether gradients flow to the parameters.
  Module& requires_grad_(bool value = true);

  // Converts floating-point parameters, gradients and buffers in place:
  // optimizers and other handles see the change. An optimizer that has already
  // stepped must be created again.
  //   InvalidArgument  `dtype` is not floating point; a tensor is a view
  //   hvd::Error (FailedPrecondition)  a graph that contains a tensor is alive
  Module& to(DType dtype);

  // Parameters and persistent buffers, which share their memory with the
  // result. A shared tensor is listed once, under its first name.
  StateDict state_dict() const;

  // Copies `state` into parameters and persistent buffers; on failure changes
  // nothing. A shared tensor may have any of its names.
  //   InvalidArgument  a shape or dtype differs; or, if strict, keys are
  //                    missing or unknown. Names the key, the expected and the
  //                    found
  LoadResult load_state_dict(const StateDict& state,
                             const LoadOptions& options = {});

  // Saves to and loads from a file: see safetensors.h, also for errors.
  void save(const std::string& path) const;
  LoadResult load(const std::string& path, const LoadOptions& options = {});

  // Hooks run in order of registration when operator() calls the module. A hook
  // may return a tensor, which replaces the input or output, or return void.
  // Hooks live until their handle is removed.
  //
  // Before forward: hook(module, input).
  template <typename Hook>
  autograd::HookHandle register_forward_pre_hook(Hook hook) {
    return add_forward_pre_hook(
        [hook = std::move(hook)](Module& module, const Tensor& input) mutable {
          return tensor_of(hook, module, input);
        });
  }
  // After forward: hook(module, input, output).
  template <typename Hook>
  autograd::HookHandle register_forward_hook(Hook hook) {
    return add_forward_hook(with_two(std::move(hook)));
  }
  // In each backward that reaches the output, once the gradient of the input is
  // known: hook(module, grad_input, grad_output). The returned tensor replaces
  // grad_input, which is undefined if the input does not require grad.
  // Restrictions:
  // - input and output must not be written in place;
  // - the hook is not called once the module is destroyed;
  // - concurrent backward calls through one graph are not supported.
  template <typename Hook>
  autograd::HookHandle register_full_backward_hook(Hook hook) {
    return add_full_backward_hook(with_two(std::move(hook)));
  }

 protected:
  // Each function returns the registered object. The state_dict omits a buffer
  // that is not persistent.
  //   InvalidArgument  the name is empty, has a dot, or is taken; the tensor is
  //                    undefined, or the module null
  Tensor register_parameter(const std::string& name, Tensor tensor);
  Tensor register_buffer(const std::string& name, Tensor tensor,
                         bool persistent = true);
  // register_parameter() for a tensor that a Parametrization may replace
  // (parametrization.h). forward() reads the tensor by effective().
  Tensor register_weight(const std::string& name, Tensor tensor);
  // The value of a weight: `weight` itself, or its parametrization's result.
  Tensor effective(const Tensor& weight) const {
    return parametrizations_ == nullptr ? weight : computed(weight);
  }
  template <typename M>
  std::shared_ptr<M> register_module(const std::string& name,
                                     std::shared_ptr<M> module) {
    add_module(name, module);
    return module;
  }

 private:
  using Tensors = std::vector<NamedTensor> Module::*;

  using TwoTensorHook =
      std::function<Tensor(Module&, const Tensor&, const Tensor&)>;

  // The result of `hook`; an undefined tensor if it returns void.
  template <typename Hook, typename... Args>
  static Tensor tensor_of(Hook& hook, Args&... args) {
    if constexpr (std::is_void_v<std::invoke_result_t<Hook&, Args&...>>) {
      hook(args...);
      return Tensor();
    } else {
      return hook(args...);
    }
  }
  template <typename Hook>
  static TwoTensorHook with_two(Hook hook) {
    return [hook = std::move(hook)](Module& module, const Tensor& a,
                                    const Tensor& b) mutable {
      return tensor_of(hook, module, a, b);
    };
  }
  autograd::HookHandle add_forward_pre_hook(
      std::function<Tensor(Module&, const Tensor&)> hook);
  autograd::HookHandle add_forward_hook(TwoTensorHook hook);
  autograd::HookHandle add_full_backward_hook(TwoTensorHook hook);

  friend class Parametrization;
  Tensor computed(const Tensor& weight) const;

  void add_module(const std::string& name, std::shared_ptr<Module> module);
  Tensor add_tensor(std::vector<NamedTensor>& list, const std::string& name,
                    Tensor tensor);
  void check_name(const std::string& name) const;
  void collect(Tensors member, const std::string& prefix,
               std::vector<NamedTensor>& out) const;
  void collect_modules(const std::string& name,
                       std::vector<std::pair<std::string, Module*>>& out);
  // Lists a shared tensor under each of its names.
  void collect_state(const std::string& prefix, StateDict& out) const;
  Tensor call_with_hooks(const Tensor& input);
  ModuleHooks& make_hooks();

  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> buffers_;
  std::vector<std::string> transient_;  // Non-persistent buffers.
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> modules_;
  std::vector<std::string> weights_;  // Names given to register_weight().
  std::shared_ptr<Module> parametrizations_;  // Null until the first.
  bool training_ = true;
  std::shared_ptr<ModuleHooks> hooks_;  // Null until the first hook.
};

// Drops the gradients of `tensors`, or fills them with zeros.
void zero_grad(const std::vector<NamedTensor>& tensors, bool set_to_none);

}  // namespace nn
}  // namespace hvd
