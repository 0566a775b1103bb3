// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augment/augmentations.h"

#include <cmath>
#include <cstdint>
#include <numbers>

#include "horovodpp/core/error.h"
#include "horovodpp/data/augment/affine.h"
#include "horovodpp/data/augment/functions.h"
#include "horovodpp/data/augment/tones.h"

namespace hvd::data::augment {
namespace {

using enum Augmentation;

double degrees_of_slope(double slope) {
  return std::atan(slope) * (180.0 / std::numbers::pi);
}

}  // namespace

Tensor augmented(const Tensor& image, Augmentation augmentation,
                 double magnitude, double fill) {
  const double white = image.defined() && image.dtype() == DType::kU8 ? 255 : 1;
  switch (augmentation) {
    case kIdentity:
      return image;
    case kShearX:
      return affine(image, {.shear_x = degrees_of_slope(magnitude),
                            .around_corner = true,
                            .fill = fill});
    case kShearY:
      return affine(image, {.shear_y = degrees_of_slope(magnitude),
                            .around_corner = true,
                            .fill = fill});
    case kTranslateX:
      return affine(image,
                    {.translate_x = std::trunc(magnitude), .fill = fill});
    case kTranslateY:
      return affine(image,
                    {.translate_y = std::trunc(magnitude), .fill = fill});
    case kRotate:
      return rotate(image, magnitude, fill);
    case kBrightness:
      return adjust_brightness(image, 1.0 + magnitude);
    case kColor:
      return adjust_saturation(image, 1.0 + magnitude);
    case kContrast:
      return adjust_contrast(image, 1.0 + magnitude);
    case kSharpness:
      return adjust_sharpness(image, 1.0 + magnitude);
    case kPosterize:
      if (!(magnitude >= 0 && magnitude <= 8)) {
        throw InvalidArgument("augmented: bits are from 0 to 8");
      }
      return posterize(image, static_cast<std::int64_t>(magnitude));
    case kSolarize:
      return solarize(image, white * magnitude);
    case kAutoContrast:
      return autocontrast(image);
    case kEqualize:
      return equalize(image);
    case kInvert:
      return invert(image);
  }
  throw InvalidArgument("augmented: no such augmentation");
}

}  // namespace hvd::data::augment
