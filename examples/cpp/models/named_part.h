// SPDX-License-Identifier: Apache-2.0
// A NamedPart only gives modules a common prefix, for parameter names that other
// libraries' files have.
//
//   register_module("output", NamedPart::of({{"dense", dense_}}));
#pragma once

#include <horovodpp/autograd/graph/error.h>
#include <horovodpp/nn.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace models {

class NamedPart : public hvd::nn::Module {
 public:
  using Children =
      std::vector<std::pair<std::string, std::shared_ptr<hvd::nn::Module>>>;

  static std::shared_ptr<NamedPart> of(const Children& children) {
    const auto part = std::make_shared<NamedPart>();
    for (const auto& [name, module] : children) {
      part->register_module(name, module);
    }
    return part;
  }

  //   InvalidArgument  always
  hvd::Tensor forward(const hvd::Tensor&) final {
    throw hvd::InvalidArgument("a NamedPart is not called; its modules are");
  }

  void add(const std::string& name, std::shared_ptr<hvd::nn::Module> module) {
    register_module(name, std::move(module));
  }
  hvd::Tensor add_parameter(const std::string& name, hvd::Tensor tensor) {
    return register_parameter(name, std::move(tensor));
  }
};

}  // namespace models
