// SPDX-License-Identifier: Apache-2.0
// Pixels are a decoded image, not yet converted to the caller's Colors.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "horovodpp/data/images/colors.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::data {

// An image file's bytes, and its name for errors.
struct EncodedImage {
  std::span<const std::uint8_t> bytes;
  const std::string& name;
  std::int64_t max_pixels = 0;
};

struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// The samples of a pixel. The inks of kCmyk are stored as 255 - ink, as Adobe's
// programs write them.
enum class PixelKind { kGray = 1, kRgb = 3, kCmyk = 4 };

struct Pixels {
  Tensor samples;  // uint8[height, width, samples of a pixel].
  PixelKind kind = PixelKind::kRgb;
};

// Uninitialized pixels.
//   hvd::Error (ResourceExhausted)  more than image.max_pixels
Pixels make_pixels(const EncodedImage& image, ImageSize size, PixelKind kind);

// [channels, height, width], whose memory has the channels last.
Tensor with_colors(const Pixels& pixels, Colors colors);

//   hvd::Error  as read_image()
Pixels decode_png(const EncodedImage& image);
Pixels decode_jpeg(const EncodedImage& image);

// Throws: the file is damaged, and `why`.
[[noreturn]] void fail_damaged(const EncodedImage& image, const char* why);
// Throws: this build cannot read `format` without `library`.
[[noreturn]] void fail_without(const EncodedImage& image, const char* format,
                               const char* library);

}  // namespace hvd::data
