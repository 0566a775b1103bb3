// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/containers.h"

#include <string>
#include <utility>

namespace hvd::nn {

Sequential::Sequential(std::vector<std::shared_ptr<Module>> modules)
    : modules_(std::move(modules)) {
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    register_module(std::to_string(i), modules_[i]);
  }
}

Tensor Sequential::forward(const Tensor& input) {
  Tensor output = input;
  for (const auto& module : modules_) output = (*module)(output);
  return output;
}

}  // namespace hvd::nn
