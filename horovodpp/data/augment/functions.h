// SPDX-License-Identifier: Apache-2.0
// Augmentations of an image that draw no random numbers. An image is uint8 or
// float32 [channels, height, width]; each function returns a new image of the
// same dtype, unless it says otherwise. Names, formulas and rounding are those of
// torchvision.transforms.v2.functional.
//
//   hvd::Tensor small = resize(image, {.height = 224, .width = 224});
//
// Every function throws InvalidArgument if the tensor is no such image, or if
// an option is out of range.
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
  std::int64_t top = 0;   // The box may exceed the image. Outside of the
  std::int64_t left = 0;  // image the result is `fill`.
  std::int64_t height = 0;
  std::int64_t width = 0;
  double fill = 0.0;
};
Tensor crop(const Tensor& image, const CropOptions& options);

// The middle of the image. If the size exceeds the image, zeros surround it.
struct SizeOptions {
  std::int64_t height = 0;
  std::int64_t width = 0;
};
Tensor center_crop(const Tensor& image, const SizeOptions& options);

struct ResizeOptions {
  std::int64_t height = 0;
  std::int64_t width = 0;
  // If positive, replaces height and width: the shorter side gets this length,
  // and the image keeps its aspect ratio.
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

// Blend the image with black, with its mean gray, or with its gray version.
// Factor 1 returns the image, and factor 0 the other one. Larger factors
// strengthen the image. 1 or 3 channels.
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

// Replaces the box of `options` by `fill`. The box lies within the image.
Tensor erase(const Tensor& image, const CropOptions& options);

}  // namespace data::augment
}  // namespace hvd
