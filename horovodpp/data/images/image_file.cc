// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/images/image_file.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/system/input_file.h"
#include "horovodpp/data/images/pixels.h"

namespace hvd::data {
namespace {

constexpr std::array<std::uint8_t, 8> kPngBegin = {0x89, 'P',  'N',  'G',
                                                   '\r', '\n', 0x1A, '\n'};
constexpr std::array<std::uint8_t, 3> kJpegBegin = {0xFF, 0xD8, 0xFF};

template <typename Magic>
bool begins_with(std::span<const std::uint8_t> bytes, const Magic& magic) {
  return bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin());
}

Pixels decode(const EncodedImage& image) {
  if (begins_with(image.bytes, kPngBegin)) return decode_png(image);
  if (begins_with(image.bytes, kJpegBegin)) return decode_jpeg(image);
  throw Error(absl::DataLossError(absl::StrCat(
      "'", image.name, "' is neither PNG nor JPEG; convert or remove it")));
}

}  // namespace

Tensor decode_image(std::span<const std::uint8_t> bytes,
                    const std::string& name, const ImageOptions& options) {
  return with_colors(
      decode({.bytes = bytes, .name = name, .max_pixels = options.max_pixels}),
      options.colors);
}

Tensor read_image(const std::string& path, const ImageOptions& options) {
  InputFile file(path);
  std::vector<std::uint8_t> bytes(file.bytes());
  file.read(bytes.data(), bytes.size());
  return decode_image(bytes, path, options);
}

}  // namespace hvd::data
