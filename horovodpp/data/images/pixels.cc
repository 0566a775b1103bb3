// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/images/pixels.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::data {
namespace {

using Byte = std::uint8_t;

// Pillow's product of two fractions of 255.
Byte times(unsigned a, unsigned b) {
  const unsigned product = a * b + 128;
  return static_cast<Byte>(((product >> 8) + product) >> 8);
}

struct Rgb {
  Byte red, green, blue;
};

Rgb rgb_of_gray(const Byte* p) { return {p[0], p[0], p[0]}; }
Rgb rgb_of_rgb(const Byte* p) { return {p[0], p[1], p[2]}; }
// p holds 255 - ink, so the paper left by black is p[3].
Rgb rgb_of_cmyk(const Byte* p) {
  const auto left = [&](Byte color) {
    return static_cast<Byte>(p[3] - times(255u - color, p[3]));
  };
  return {left(p[0]), left(p[1]), left(p[2])};
}

// ITU-R 601-2, in 16-bit fixed point as Pillow's.
Byte luma(Rgb c) {
  return static_cast<Byte>(
      (c.red * 19595u + c.green * 38470u + c.blue * 7471u + 0x8000u) >> 16);
}

template <typename ToRgb>
void convert(const Pixels& pixels, ToRgb to_rgb, Tensor& to) {
  const auto* from = pixels.samples.data<Byte>();
  const std::int64_t samples = pixels.samples.size(2);
  const std::int64_t count = pixels.samples.num_elements() / samples;
  auto* next = to.data<Byte>();
  const bool is_gray = to.size(2) == 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const Rgb color = to_rgb(from + i * samples);
    if (is_gray) {
      *next++ = luma(color);
    } else {
      *next++ = color.red;
      *next++ = color.green;
      *next++ = color.blue;
    }
  }
}

}  // namespace

Pixels make_pixels(const EncodedImage& image, ImageSize size, PixelKind kind) {
  if (size.width <= 0 || size.height <= 0) fail_damaged(image, "it is empty");
  if (size.height > image.max_pixels / size.width) {
    throw Error(absl::ResourceExhaustedError(absl::StrCat(
        "'", image.name, "' claims ", size.width, " x ", size.height,
        " pixels, more than the limit of ", image.max_pixels,
        "; if you trust the file, raise ImageOptions::max_pixels")));
  }
  return {
      .samples = empty({size.height, size.width, static_cast<int>(kind)},
                       {.dtype = DType::kU8}),
      .kind = kind,
  };
}

Tensor with_colors(const Pixels& pixels, Colors colors) {
  const bool is_gray = colors == Colors::kGray;
  Tensor result = pixels.samples;
  if (pixels.kind != (is_gray ? PixelKind::kGray : PixelKind::kRgb)) {
    result = empty({result.size(0), result.size(1), is_gray ? 1 : 3},
                   {.dtype = DType::kU8});
    switch (pixels.kind) {
      case PixelKind::kGray:
        convert(pixels, rgb_of_gray, result);
        break;
      case PixelKind::kRgb:
        convert(pixels, rgb_of_rgb, result);
        break;
      case PixelKind::kCmyk:
        convert(pixels, rgb_of_cmyk, result);
        break;
    }
  }
  return result.permute({2, 0, 1});
}

void fail_damaged(const EncodedImage& image, const char* why) {
  throw Error(
      absl::DataLossError(absl::StrCat("'", image.name, "' is damaged: ", why,
                                       "; get the file anew, or remove it")));
}

void fail_without(const EncodedImage& image, const char* format,
                  const char* library) {
  throw Error(absl::UnimplementedError(absl::StrCat(
      "'", image.name, "' is a ", format,
      " file, which this build of horovodpp ", "cannot read; install ", library,
      " and build horovodpp again")));
}

}  // namespace hvd::data
