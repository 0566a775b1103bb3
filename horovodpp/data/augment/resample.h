// SPDX-License-Identifier: Apache-2.0
// Bilinear resizing of an image, with PyTorch's triangular filter. With
// antialiasing, the filter is at least as wide as a pixel of the result.
#pragma once

#include "horovodpp/data/augment/image_view.h"

namespace hvd::data::augment {

// Fills `to`, whose channels are last and dense, from all of `from`. Rows
// are resized before columns, and bytes rounded after each. T: std::uint8_t, float.
template <typename T>
void resample(const ImageView<const T>& from, const ImageView<T>& to,
              bool antialias);

}  // namespace hvd::data::augment
