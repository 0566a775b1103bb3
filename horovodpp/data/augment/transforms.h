// SPDX-License-Identifier: Apache-2.0
// Random transforms of images, and those of functions.h as transforms. Options,
// defaults and distributions are those of torchvision.transforms.v2.
//
// Each function throws InvalidArgument for options out of range, and its
// transform for images that do not fit. transform.h has an example.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/data/augment/functions.h"
#include "horovodpp/data/augment/transform.h"

namespace HVD_EXPORT hvd {
namespace data::augment {

ImageTransform random_horizontal_flip(double probability = 0.5);
ImageTransform random_vertical_flip(double probability = 0.5);

struct RandomCropOptions {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t padding = 0;  // Of `fill`, on each side of the image.
  double fill = 0.0;
};
//   the transform: InvalidArgument  the padded image is smaller than the crop
ImageTransform random_crop(const RandomCropOptions& options);

struct RandomResizedCropOptions {
  std::int64_t height = 0;
  std::int64_t width = 0;
  double least_area = 0.08;  // Of the image's area.
  double most_area = 1.0;
  double least_ratio = 3.0 / 4.0;  // Of width to height.
  double most_ratio = 4.0 / 3.0;
  bool antialias = true;
};
ImageTransform random_resized_crop(const RandomResizedCropOptions& options);

struct ColorJitterOptions {
  double brightness = 0.0;  // Factors are uniform in [max(0, 1 - x), 1 + x].
  double contrast = 0.0;
  double saturation = 0.0;
  double hue = 0.0;  // Turned by up to this share of the circle, at most 0.5.
};
// Adjusts the four in random order.
ImageTransform color_jitter(const ColorJitterOptions& options);

struct RandomErasingOptions {
  double probability = 0.5;
  double least_area = 0.02;  // Of the image's area.
  double most_area = 0.33;
  double least_ratio = 0.3;  // Of height to width.
  double most_ratio = 3.3;
  double fill = 0.0;
};
ImageTransform random_erasing(const RandomErasingOptions& options = {});

ImageTransform resize(const ResizeOptions& options);
ImageTransform center_crop(const SizeOptions& options);
ImageTransform to_float();
ImageTransform normalize(const NormalizeOptions& options);

}  // namespace data::augment
}  // namespace hvd
