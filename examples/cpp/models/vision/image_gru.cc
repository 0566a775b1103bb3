// SPDX-License-Identifier: Apache-2.0
#include "models/vision/image_gru.h"

#include <memory>

namespace models {

namespace nn = hvd::nn;
using hvd::Tensor;

ImageGRU::ImageGRU(const ImageGRUOptions& options) {
  const auto gru = register_module(
      "gru", std::make_shared<nn::GRU>(
                 options.image, options.hidden,
                 nn::RecurrentOptions{.num_layers = options.layers,
                                      .batch_first = true}));
  const auto head = register_module(
      "head", std::make_shared<nn::Linear>(options.hidden, options.classes));
  add_block({{[gru](const Tensor& images) {
    const Tensor states = (*gru)(images.select(1, 0));
    return states.select(1, states.size(1) - 1);
  }}});
  add_stage({[head](const Tensor& x) { return (*head)(x); }});
}

}  // namespace models
