// SPDX-License-Identifier: Apache-2.0
// A Parametrization computes a weight of a module from other parameters. The
// module uses the result in each forward; gradients reach the parameters.
//
//   hvd::nn::Linear fc(784, 10);
//   hvd::nn::weight_norm(fc);        // parametrize/weight_norm.h
//   fc.state_dict();                 // "parametrizations.weight.original0", …
//
// The layer keeps its handle of the weight. That tensor becomes the "original"
// one: a parameter of the parametrization, by PyTorch's name. So optimizers
// that were made before still update it, but miss further parameters. Create
// optimizers after attach().
//
// attach() and remove() change the module: no other thread may use it then.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace nn {

class Parametrization : public Module {
 public:
  // The weight, from the original tensor. Its shape and dtype are the
  // original's.
  Tensor forward(const Tensor& original) override = 0;

  // Parametrizes the weight `name` of `module`. Linear, Bilinear and
  // convolutions can be parametrized, each weight once.
  //   InvalidArgument  the module has no such weight, or it is parametrized
  static void attach(Module& module, const std::string& name,
                     std::shared_ptr<Parametrization> parametrization);
  // Ends the parametrization: its result becomes the weight. Needs no graph.
  //   InvalidArgument  the weight is not parametrized
  static void remove(Module& module, const std::string& name);

  // The parameter `name` of `module`.
  //   InvalidArgument  as of attach()
  static Tensor weight_of(const Module& module, const std::string& name);

 private:
  friend class Module;
  class All;
  static std::vector<std::pair<std::string, std::shared_ptr<Module>>>&
  modules_of(Module& module);
};

// torch.nn.utils.parametrize.remove_parametrizations
void remove_parametrization(Module& module, const std::string& name = "weight");

}  // namespace nn
}  // namespace hvd
