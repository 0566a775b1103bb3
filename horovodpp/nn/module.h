// A Module is a part of a model: it holds parameters (which are learnt),
// buffers (which are not) and other modules, and turns an input into an output.
//
//   struct Net : hvd::nn::Module {
//     hvd::Tensor forward(const hvd::Tensor& x) override {
//       return fc->forward(x);
//     }
//     std::shared_ptr<hvd::nn::Linear> fc =
//         register_module("fc", std::make_shared<hvd::nn::Linear>(784, 10));
//   };
//   Net net;
//   for (auto& [name, tensor] : net.named_parameters()) …   // "fc.weight", …
//
// Not thread-safe while it is changed; several threads may call forward().
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/autograd/tensor.h"

namespace hvd::nn {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

class Module {
 public:
  virtual ~Module() = default;
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  virtual Tensor forward(const Tensor& input) = 0;
  Tensor operator()(const Tensor& input) { return forward(input); }

  // In the order of registration, a module's own before those of its parts.
  // Names are dotted: "features.0.weight". A tensor that is registered in
  // several places is listed once, under its first name.
  std::vector<NamedTensor> named_parameters() const;
  std::vector<NamedTensor> named_buffers() const;
  std::vector<Tensor> parameters() const;

  // Training is the default; some modules behave otherwise in evaluation. It
  // has nothing to do with whether gradients are recorded.
  void train(bool training = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }

  // Forgets the gradients of all parameters (or fills them with zeros).
  void zero_grad(bool set_to_none = true) const;

 protected:
  // Each returns what it registers.
  //   InvalidArgument  the name is empty, has a dot, or is taken; there is
  //                    nothing: an undefined tensor, a null module
  Tensor register_parameter(const std::string& name, Tensor tensor);
  Tensor register_buffer(const std::string& name, Tensor tensor);
  template <typename M>
  std::shared_ptr<M> register_module(const std::string& name,
                                     std::shared_ptr<M> module) {
    add_module(name, module);
    return module;
  }

 private:
  using Tensors = std::vector<NamedTensor> Module::*;

  void add_module(const std::string& name, std::shared_ptr<Module> module);
  Tensor add_tensor(std::vector<NamedTensor>& list, const std::string& name,
                    Tensor tensor);
  void check_name(const std::string& name) const;
  void collect(Tensors member, const std::string& prefix,
               std::vector<NamedTensor>& out) const;

  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> buffers_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> modules_;
  bool training_ = true;
};

// Forgets the gradients of `tensors` (or fills them with zeros).
void zero_grad(const std::vector<NamedTensor>& tensors, bool set_to_none);

}  // namespace hvd::nn
