// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/augment/image_view.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"

namespace hvd::data::augment {

void check_image(const Tensor& image) {
  const bool good =
      image.defined() && image.dim() == 3 && image.num_elements() > 0 &&
      (image.dtype() == DType::kU8 || image.dtype() == DType::kF32);
  if (good) return;
  throw InvalidArgument(absl::StrCat(
      "an image is uint8 or float32[channels, height, width]; this one is ",
      image.defined() ? image.describe() : "undefined"));
}

Tensor image_like(const Tensor& like, std::int64_t height, std::int64_t width) {
  return empty({height, width, like.size(0)}, {.dtype = like.dtype()})
      .permute({2, 0, 1});
}

void copy_image(const Tensor& from, const Tensor& to) {
  with_element(from, [&]<typename T>(T) {
    const auto source = view_of<T>(from);
    const auto target = view_of<T>(to);
    for (std::int64_t c = 0; c < source.channels; ++c) {
      for (std::int64_t y = 0; y < source.height; ++y) {
        for (std::int64_t x = 0; x < source.width; ++x) {
          target.at(c, y, x) = source.at(c, y, x);
        }
      }
    }
  });
}

}  // namespace hvd::data::augment
