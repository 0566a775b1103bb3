// SPDX-License-Identifier: Apache-2.0
// A Module is a part of a model: it holds parameters (which are learnt),
// buffers (which are not) and other modules, and turns an input into an output.
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
// A module is called by its operator(), which runs hooks (module_hooks.h) and
// forward(). Not thread-safe while it is changed; several threads may call it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/named_tensor.h"
#include "horovodpp/nn/state_dict.h"
#include "horovodpp/tensor/hook_handle.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct CheckpointOptions;

namespace nn {

class ModuleHooks;

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

  // In the order of registration, a module's own before those of its parts.
  // Names are dotted: "features.0.weight". A tensor that is registered in
  // several places is listed once, under its first name.
  std::vector<NamedTensor> named_parameters() const;
  std::vector<NamedTensor> named_buffers() const;
  std::vector<Tensor> parameters() const;

  // The modules within, in the same order and with the same names: the direct
  // ones; or this one, named "", and all below. Each is listed once.
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> named_children()
      const;
  std::vector<std::shared_ptr<Module>> children() const;
  std::vector<std::pair<std::string, Module*>> named_modules();

  // Calls `visit` for all modules within, and then for this one.
  Module& apply(const std::function<void(Module&)>& visit);

  // Training is the default; some modules behave otherwise in evaluation. It
  // has nothing to do with whether gradients are recorded.
  void train(bool training = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }

  // Whether calls of this module are checkpointed regions, and how they are: see
  // checkpoint.h. Null: they are none.
  void set_checkpoint(const CheckpointOptions* options);
  bool is_checkpointed() const;

  // Forgets the gradients of all parameters (or fills them with zeros).
  void zero_grad(bool set_to_none = true) const;

  // Whether gradients flow to the parameters.
  Module& requires_grad_(bool value = true);

  // Converts parameters, their gradients and buffers, those that are floating
  // point, in place: optimizers and other handles see it too. An optimizer that
  // has moved them already has to be made anew.
  //   InvalidArgument  `dtype` is not floating point; one is a view
  //   hvd::Error (FailedPrecondition)  a graph of one of them is alive
  Module& to(DType dtype);

  // Parameters and persistent buffers, sharing their memory. What is shared is
  // listed once, under its first name.
  StateDict state_dict() const;

  // Copies `state` into parameters and persistent buffers; either all of it or,
  // on failure, nothing. What is shared may come under any of its names.
  //   InvalidArgument  says what, expected and found: a shape or dtype differs;
  //                    or, if strict, keys are missing or unknown
  LoadResult load_state_dict(const StateDict& state,
                             const LoadOptions& options = {});

  // The same by way of a file: see safetensors.h, whose errors they have too.
  void save(const std::string& path) const;
  LoadResult load(const std::string& path, const LoadOptions& options = {});

  // Hooks run when the module is called by its operator(), in the order of
  // their registration; a tensor that one returns takes the place of what it
  // was given (it may return nothing). They live until their handle is removed.
  //
  // Before forward: hook(module, input).
  template <typename Hook>
  autograd::HookHandle register_forward_pre_hook(Hook hook) {
    return add_forward_pre_hook(
        [hook = std::move(hook)](Module& module, const Tensor& input) mutable {
          return tensor_of(hook, module, input);
        });
  }
  // After it: hook(module, input, output).
  template <typename Hook>
  autograd::HookHandle register_forward_hook(Hook hook) {
    return add_forward_hook(with_two(std::move(hook)));
  }
  // In each backward that reaches the output, once the gradient of the input is
  // known: hook(module, grad_input, grad_output). What it returns replaces
  // grad_input, which is undefined if the input does not require grad. Input
  // and output must not be written in place then. Not called once the module is
  // gone; not for several backward calls through one graph at the same time.
  template <typename Hook>
  autograd::HookHandle register_full_backward_hook(Hook hook) {
    return add_full_backward_hook(with_two(std::move(hook)));
  }

 protected:
  // Each returns what it registers. A buffer that is not persistent is no part
  // of the state_dict.
  //   InvalidArgument  the name is empty, has a dot, or is taken; there is
  //                    nothing: an undefined tensor, a null module
  Tensor register_parameter(const std::string& name, Tensor tensor);
  Tensor register_buffer(const std::string& name, Tensor tensor,
                         bool persistent = true);
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

  // What `hook` returns; no tensor if that is void.
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

  void add_module(const std::string& name, std::shared_ptr<Module> module);
  Tensor add_tensor(std::vector<NamedTensor>& list, const std::string& name,
                    Tensor tensor);
  void check_name(const std::string& name) const;
  void collect(Tensors member, const std::string& prefix,
               std::vector<NamedTensor>& out) const;
  void collect_modules(const std::string& name,
                       std::vector<std::pair<std::string, Module*>>& out);
  // With what is shared under each of its names.
  void collect_state(const std::string& prefix, StateDict& out) const;
  Tensor call_with_hooks(const Tensor& input);
  ModuleHooks& make_hooks();

  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> buffers_;
  std::vector<std::string> transient_;  // The buffers that are not persistent.
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> modules_;
  bool training_ = true;
  std::shared_ptr<ModuleHooks> hooks_;  // Null until there is one.
};

// Forgets the gradients of `tensors` (or fills them with zeros).
void zero_grad(const std::vector<NamedTensor>& tensors, bool set_to_none);

}  // namespace nn
}  // namespace hvd
