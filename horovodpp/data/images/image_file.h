// SPDX-License-Identifier: Apache-2.0
// Image files, PNG or JPEG, as tensors of bytes.
//
//   hvd::Tensor cat = hvd::data::read_image("cat.jpg");   // uint8[3, height, width]
//
// The bytes are those of Pillow's Image.open(path).convert("RGB") or
// convert("L"): transparency is dropped, and neither color profiles nor the
// camera's orientation are applied. Of 16-bit samples the high byte is kept,
// where Pillow clips those of gray images.
//
// PNG needs libpng, JPEG needs libjpeg-turbo, when the library is built.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <span>
#include <string>

#include "horovodpp/core/export.h"
#include "horovodpp/data/images/colors.h"  // IWYU pragma: export
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace data {

struct ImageOptions {
  Colors colors = Colors::kRgb;
  // Larger images are refused: a small file can claim any size.
  std::int64_t max_pixels = 178956970;  // As Pillow: 512 MiB of RGB.
};

// The image in the file: uint8[3, height, width], or [1, height, width] of
// kGray. Its memory has the channels last.
//   hvd::Error  names the file. DataLoss: it is truncated or damaged, or neither
//               PNG nor JPEG. ResourceExhausted: it has more than max_pixels.
//               Unimplemented: this build lacks the format's library
Tensor read_image(const std::string& path, const ImageOptions& options = {});

// The image in `bytes`. Errors call it `name`.
Tensor decode_image(std::span<const std::uint8_t> bytes,
                    const std::string& name, const ImageOptions& options = {});

}  // namespace data
}  // namespace hvd
