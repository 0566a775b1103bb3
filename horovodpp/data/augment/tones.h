// SPDX-License-Identifier: Apache-2.0
// Functions as those of functions.h that change tones and sharpness of an image.
// Names, formulas and rounding are those of torchvision.transforms.v2.functional.
//
//   hvd::Tensor vivid = equalize(image);
//
// Every function throws InvalidArgument if the tensor is no such image, or if an
// option is out of range.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace data::augment {

// Turns the hue by this share of the color circle, from -0.5 to 0.5. 1 or 3
// channels; gray stays as it is.
Tensor adjust_hue(const Tensor& image, double factor);
// Blends the image with one whose pixels, but those at the edge, are means of 3 x
// 3 pixels. Factor 1 returns the image, and factor 0 the other one. 1 or 3
// channels.
Tensor adjust_sharpness(const Tensor& image, double factor);

// White minus the image.
Tensor invert(const Tensor& image);
// Keeps this many bits of each byte, 0 to 8, or as many steps of a float.
Tensor posterize(const Tensor& image, std::int64_t bits);
// Inverts the values from `threshold` on. It is at most white: 255 or 1.
Tensor solarize(const Tensor& image, double threshold);
// Stretches the values of each channel from black to white. 1 or 3 channels.
Tensor autocontrast(const Tensor& image);
// Makes all bytes of a channel about equally frequent. Floats are rounded to
// bytes before.
Tensor equalize(const Tensor& image);

}  // namespace data::augment
}  // namespace hvd
