// SPDX-License-Identifier: Apache-2.0
// Mixes of the images of a batch, with mixed labels: mixup (Zhang et al. 2018)
// and cutmix (Yun et al. 2019), as torchvision's MixUp and CutMix.
//
//   const BatchTransform mix = mixup({.num_classes = 1000, .alpha = 0.2});
//   hvd::data::AugmentedDataset train(folder, transform, mix);
//   ...
//   hvd::cross_entropy(model(batch[0]), batch[1]).backward();
//
// A batch is {images [n, channels, height, width], labels int64[n]}, and becomes
// {images, float32[n, num_classes]}. Image i is mixed with image i - 1, the first
// with the last, all in one ratio of distribution Beta(alpha, alpha).
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <functional>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace data::augment {

// Draws only from `random`, and leaves `batch` unchanged.
using BatchTransform = std::function<std::vector<Tensor>(
    const std::vector<Tensor>& batch, autograd::Generator& random)>;

struct MixOptions {
  std::int64_t num_classes = 0;
  double alpha = 1.0;
};

// Both functions throw InvalidArgument if an option is not positive. Their
// transforms throw it for a batch of another form, and for labels out of range.

// Mixes two float32 images by their weighted mean.
BatchTransform mixup(const MixOptions& options);
// Puts a box of the other image into an image, uint8 or float32.
BatchTransform cutmix(const MixOptions& options);

}  // namespace data::augment
}  // namespace hvd
