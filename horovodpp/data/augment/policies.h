// SPDX-License-Identifier: Apache-2.0
// Transforms that draw which operations change an image, as torchvision's.
//
//   const ImageTransform transform =
//       compose({random_resized_crop({.height = 224, .width = 224}),
//                rand_augment(), to_float()});
//
// Images have 1 or 3 channels. Each function throws InvalidArgument for options
// out of range.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/data/augment/augmentations.h"  // IWYU pragma: export
#include "horovodpp/data/augment/transform.h"

namespace HVD_EXPORT hvd {
namespace data::augment {

// Operations of one strength (Cubuk et al., "RandAugment", 2019).
struct RandAugmentOptions {
  std::int64_t num_ops = 2;
  std::int64_t magnitude = 9;  // Below num_magnitude_bins.
  std::int64_t num_magnitude_bins = 31;
  double fill = 0.0;
};
ImageTransform rand_augment(const RandAugmentOptions& options = {});

// One operation of random strength (Müller and Hutter, "TrivialAugment", 2021).
struct TrivialAugmentOptions {
  std::int64_t num_magnitude_bins = 31;
  double fill = 0.0;
};
ImageTransform trivial_augment_wide(const TrivialAugmentOptions& options = {});

// One of the 25 pairs of operations of the policy (Cubuk et al., "AutoAugment",
// 2018).
ImageTransform auto_augment(
    AutoAugmentPolicy policy = AutoAugmentPolicy::kImageNet, double fill = 0.0);

}  // namespace data::augment
}  // namespace hvd
