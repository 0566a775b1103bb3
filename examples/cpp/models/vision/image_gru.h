// SPDX-License-Identifier: Apache-2.0
// ImageGRU is a recurrent network that reads the rows of an image from top to
// bottom, and classifies it by the last state.
//
//   models::ImageGRU model({.hidden = 128});
//   hvd::Tensor logits = model(images);  // [n, 1, 28, 28] -> [n, 10]
#pragma once

#include <cstdint>

#include "models/chain_model.h"

namespace models {

struct ImageGRUOptions {
  std::int64_t hidden = 128;
  std::int64_t layers = 1;
  std::int64_t image = 28;
  std::int64_t classes = 10;
};

// [n, 1, image, image] -> [n, classes]
class ImageGRU : public ChainModel {
 public:
  explicit ImageGRU(const ImageGRUOptions& options = {});
};

}  // namespace models
