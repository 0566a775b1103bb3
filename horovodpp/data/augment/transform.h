// SPDX-License-Identifier: Apache-2.0
// An ImageTransform turns an image into another, with random numbers of its own.
//
//   using namespace hvd::data::augment;
//   const ImageTransform transform =
//       compose({random_resized_crop({.height = 224, .width = 224}),
//                random_horizontal_flip(),
//                normalize({.mean = {0.485, 0.456, 0.406},
//                           .std = {0.229, 0.224, 0.225}})});
//
// Images are [channels, height, width], uint8 or float32. A transform may be
// called by several threads at once.
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

// Draws only from `random`, and leaves `image` unchanged.
using ImageTransform =
    std::function<Tensor(const Tensor& image, autograd::Generator& random)>;

// The transforms, one after the other.
ImageTransform compose(std::vector<ImageTransform> transforms);

enum class Layout {
  kNchw,  // [n, channels, height, width]
  kNhwc,  // [n, height, width, channels]
};

// The transformed images of a batch, as a batch of `layout`, contiguous. Image i
// draws from generators[i]. Threads share the images (set_num_threads()); their
// number does not change the result.
//   InvalidArgument  `images` is no batch of images, the number of generators
//                    is not n, or the results differ in shape or dtype
Tensor transform_batch(const Tensor& images, const ImageTransform& transform,
                       std::vector<autograd::Generator> generators,
                       Layout layout = Layout::kNchw);

// The transformed images, [channels, height, width] each. Image i draws from
// generators[i].
// Throws what `transform` throws for the first image that fails.
std::vector<Tensor> transform_images(
    const std::vector<Tensor>& images, const ImageTransform& transform,
    std::vector<autograd::Generator> generators);

}  // namespace data::augment
}  // namespace hvd
