// SPDX-License-Identifier: Apache-2.0
#include "models/vision/mlp.h"

#include <horovodpp/ops.h>

#include <memory>

namespace models {

namespace nn = hvd::nn;
using hvd::Tensor;

// The layers have the names that they would have in a Sequential with the
// ReLUs.
Mlp::Mlp(std::int64_t inputs, std::int64_t classes) {
  const auto layer = [this](const char* name, std::int64_t in,
                            std::int64_t out) {
    return register_module(name, std::make_shared<nn::Linear>(in, out));
  };
  const auto first = layer("0", inputs, 256);
  const auto second = layer("2", 256, 128);
  const auto last = layer("4", 128, classes);
  add_block({{[first](const Tensor& images) {
    return hvd::relu((*first)(images.reshape({images.size(0), -1})));
  }}});
  add_block({{[second](const Tensor& x) { return hvd::relu((*second)(x)); }}});
  add_stage({[last](const Tensor& x) { return (*last)(x); }});
}

}  // namespace models
