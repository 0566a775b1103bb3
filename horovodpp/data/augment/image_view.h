// SPDX-License-Identifier: Apache-2.0
// An ImageView points to an image's elements, and has their type and strides.
// Loops over images take ImageViews instead of tensors.
#pragma once

#include <cstdint>

#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::data::augment {

// A part of an image.
struct Box {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// Strides count elements.
template <typename T>
struct ImageView {
  T* data = nullptr;
  std::int64_t channels = 0, height = 0, width = 0;
  std::int64_t channel_stride = 0, row_stride = 0, column_stride = 0;

  T& at(std::int64_t c, std::int64_t y, std::int64_t x) const {
    return data[c * channel_stride + y * row_stride + x * column_stride];
  }
  // The part of the image in `box`, which lies within the image.
  ImageView part(const Box& box) const {
    ImageView view = *this;
    view.data += box.top * row_stride + box.left * column_stride;
    view.height = box.height;
    view.width = box.width;
    return view;
  }
};

template <typename T>
ImageView<T> view_of(const Tensor& image) {
  const autograd::Dims& strides = image.strides();
  return {.data = image.data<T>(),
          .channels = image.size(0),
          .height = image.size(1),
          .width = image.size(2),
          .channel_stride = strides[0],
          .row_stride = strides[1],
          .column_stride = strides[2]};
}

//   InvalidArgument  not an image: uint8 or float32 [channels, height, width],
//                    none of them 0
void check_image(const Tensor& image);

// An image like `like` of another size, with the channels last in memory.
Tensor image_like(const Tensor& like, std::int64_t height, std::int64_t width);

// Calls body(T{}) with the type of the image's elements, after check_image().
template <typename Body>
auto with_element(const Tensor& image, Body body) {
  check_image(image);
  if (image.dtype() == DType::kU8) return body(std::uint8_t{});
  return body(float{});
}

// Copies between images of one size and type.
void copy_image(const Tensor& from, const Tensor& to);

}  // namespace hvd::data::augment
