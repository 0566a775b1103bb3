// SPDX-License-Identifier: Apache-2.0
// Images with noise, for a model that predicts the noise.
//
//   DenoisingImages noisy(images);
//
// An item is float32[2, 28, 28], the noisy image and its time in every pixel,
// and the noise, float32[1, 28, 28]. At time t the image is cos(πt/2) image +
// sin(πt/2) noise. Time and noise depend only on the item's number, so that any
// number of ranks learns the same.
#pragma once

#include "fashion_mnist_data.h"

class DenoisingImages : public hvd::data::Dataset {
 public:
  // `images`, whose items begin with float32[1, 28, 28], outlives this.
  explicit DenoisingImages(const hvd::data::Dataset& images)
      : images_(images) {}

  std::int64_t size() const override { return images_.size(); }
  hvd::data::Item get(std::int64_t index) const override;
  hvd::data::Batch get_batch(
      std::span<const std::int64_t> indices) const override;

 private:
  const hvd::data::Dataset& images_;
};
