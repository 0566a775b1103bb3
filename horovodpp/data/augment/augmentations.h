// SPDX-License-Identifier: Apache-2.0
// The operations of which policies (policies.h) draw.
//
//   hvd::Tensor turned = augmented(image, Augmentation::kRotate, 30);
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace data::augment {

// A change that a policy makes to an image. The magnitude is torchvision's: a
// factor minus 1 for brightness, color, contrast and sharpness; pixels of a
// translation; degrees of a rotation; the tangent of a shear's angle; bits to
// keep of a posterized byte; and a share of white for solarize.
enum class Augmentation {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
  kInvert,
};
Tensor augmented(const Tensor& image, Augmentation augmentation,
                 double magnitude, double fill = 0.0);

// The images for which a search found a policy of AutoAugment.
enum class AutoAugmentPolicy { kImageNet, kCifar10, kSvhn };

}  // namespace data::augment
}  // namespace hvd
