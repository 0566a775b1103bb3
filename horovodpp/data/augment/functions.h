// SPDX-License-Identifier: Apache-2.0
// What augmentations do to an image, without chance. An image is uint8 or
// float32 [channels, height, width]; each function returns a new image of the
// same dtype, unless it says otherwise. Names, formulas and rounding are those of
// torchvision.transforms.v2.functional.
//
//   hvd::Tensor small = resize(image, {.height = 224, .width = 224});
//
// Every function throws InvalidArgument for another tensor, and for options that
// it cannot follow.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace data::augment {

// Mirrored left to right, and top to bottom.
Tensor hflip(const Tensor& image);
Tensor vflip(const Tensor& image);

struct CropOptions {
  std::int64_t top = 0;   // May lie outside of the image, where the result
  std::int64_t left = 0;  // is `fill`.
  std::int64_t height = 0;
  std::int64_t width = 0;
  double fill = 0.0;
};
Tensor crop(const Tensor& image, const CropOptions& options);

// The middle. Larger than the image: with zeros around it.
struct SizeOptions {
  std::int64_t height = 0;
  std::int64_t width = 0;
};
Tensor center_crop(const Tensor& image, const SizeOptions& options);

struct ResizeOptions {
  std::int64_t height = 0;
  std::int64_t width = 0;
  // If positive, in place of both: the length of the shorter side. The image
  // keeps its ratio.
  std::int64_t shorter_side = 0;
  bool antialias = true;
};
// Bilinear.
Tensor resize(const Tensor& image, const ResizeOptions& options);

// resize(crop()), in one pass. The box lies within the image.
struct ResizedCropOptions {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t to_height = 0;
  std::int64_t to_width = 0;
  bool antialias = true;
};
Tensor resized_crop(const Tensor& image, const ResizedCropOptions& options);

// Blends the image with black, with its mean gray, or with itself in gray: 0 is
// all of that, 1 is the image, more exceeds it. 1 or 3 channels.
Tensor adjust_brightness(const Tensor& image, double factor);
Tensor adjust_contrast(const Tensor& image, double factor);
Tensor adjust_saturation(const Tensor& image, double factor);

// float32, row-major: bytes divided by 255.
Tensor to_float(const Tensor& image);

struct NormalizeOptions {
  std::vector<double> mean;  // One per channel, or one for all.
  std::vector<double> std;   // Likewise.
};
// (to_float(image) - mean) / std, float32, row-major.
Tensor normalize(const Tensor& image, const NormalizeOptions& options);

// `options` as those of crop(), within the image, which becomes fill there.
Tensor erase(const Tensor& image, const CropOptions& options);

}  // namespace data::augment
}  // namespace hvd
