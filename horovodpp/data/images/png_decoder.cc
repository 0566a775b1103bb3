// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "horovodpp/data/images/jump.h"
#include "horovodpp/data/images/pixels.h"

namespace hvd::data {
namespace {

class PngReader {
 public:
  explicit PngReader(std::span<const std::uint8_t> bytes) : rest_(bytes) {}
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  // Reads up to the pixels. Returns false after an error: message().
  bool read_header() {
    if (setjmp(jump_.place) != 0) return false;
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &jump_, fail, ignore);
    if (png_ == nullptr) return false;
    info_ = png_create_info_struct(png_);
    if (info_ == nullptr) return false;
    png_set_read_fn(png_, this, read);
    png_read_info(png_, info_);
    reduce_to_bytes();
    return true;
  }

  ImageSize size() const {
    return {.height = png_get_image_height(png_, info_),
            .width = png_get_image_width(png_, info_)};
  }
  PixelKind kind() const {
    return png_get_channels(png_, info_) == 1 ? PixelKind::kGray
                                              : PixelKind::kRgb;
  }

  std::int64_t bytes_of_row() const {
    return static_cast<std::int64_t>(png_get_rowbytes(png_, info_));
  }

  // Fills the rows, of bytes_of_row() each, and reads to the end of the image.
  bool read_rows(png_bytepp rows) {
    if (setjmp(jump_.place) != 0) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

  const char* message() const {
    return jump_.message[0] != '\0' ? jump_.message : "no memory to decode it";
  }

 private:
  static void fail(png_structp png, png_const_charp why) {
    static_cast<Jump*>(png_get_error_ptr(png))->leave(why);
  }
  static void ignore(png_structp, png_const_charp) {}

  static void read(png_structp png, png_bytep to, std::size_t bytes) {
    auto& rest = static_cast<PngReader*>(png_get_io_ptr(png))->rest_;
    if (bytes > rest.size()) png_error(png, "the file is truncated");
    std::memcpy(to, rest.data(), bytes);
    rest = rest.subspan(bytes);
  }

  // Gray or RGB of 8 bits, whatever the file has.
  void reduce_to_bytes() {
    const int color = png_get_color_type(png_, info_);
    if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (color == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  }

  Jump jump_;
  std::span<const std::uint8_t> rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

Pixels decode_png(const EncodedImage& image) {
  PngReader reader(image.bytes);
  if (!reader.read_header()) fail_damaged(image, reader.message());
  Pixels pixels = make_pixels(image, reader.size(), reader.kind());
  auto* data = pixels.samples.data<std::uint8_t>();
  const std::int64_t row = pixels.samples.size(1) * pixels.samples.size(2);
  if (row != reader.bytes_of_row()) fail_damaged(image, "its samples are odd");
  std::vector<png_bytep> rows;
  for (std::int64_t y = 0; y < pixels.samples.size(0); ++y) {
    rows.push_back(data + y * row);
  }
  if (!reader.read_rows(rows.data())) fail_damaged(image, reader.message());
  return pixels;
}

}  // namespace hvd::data
