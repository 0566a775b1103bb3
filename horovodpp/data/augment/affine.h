// SPDX-License-Identifier: Apache-2.0
// Affine maps of an image, as a function of functions.h. Names, formulas and
// rounding are those of torchvision.transforms.v2.functional.
//
//   hvd::Tensor turned = rotate(image, 30);
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace data::augment {

// Of a pixel, counted from the middle of the image: sheared, scaled and turned
// around the center, then moved.
struct AffineOptions {
  double angle = 0.0;  // In degrees, clockwise.
  double translate_x = 0.0;
  double translate_y = 0.0;
  double scale = 1.0;
  double shear_x = 0.0;  // In degrees.
  double shear_y = 0.0;
  bool around_corner = false;  // The center is the upper left corner.
  double fill = 0.0;           // Outside of the image.
};

// Each pixel of the result is the nearest one of the image.
//   InvalidArgument  not an image, or a number is not finite, or the scale is
//                    not positive
Tensor affine(const Tensor& image, const AffineOptions& options);

// Turned counterclockwise by degrees around the middle.
Tensor rotate(const Tensor& image, double angle, double fill = 0.0);

}  // namespace data::augment
}  // namespace hvd
