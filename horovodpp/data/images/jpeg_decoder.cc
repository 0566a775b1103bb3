// SPDX-License-Identifier: Apache-2.0
// jpeglib.h needs <cstdio>'s names before it.
#include <cstddef>
#include <cstdio>
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "horovodpp/data/images/jump.h"
#include "horovodpp/data/images/pixels.h"

namespace hvd::data {
namespace {

// A progressive file of many scans takes long to decode: at most so many.
constexpr int kMaxScans = 500;

PixelKind kind_of(J_COLOR_SPACE colors) {
  switch (colors) {
    case JCS_GRAYSCALE:
      return PixelKind::kGray;
    case JCS_CMYK:
    case JCS_YCCK:
      return PixelKind::kCmyk;
    default:
      return PixelKind::kRgb;
  }
}

J_COLOR_SPACE colors_of(PixelKind kind) {
  switch (kind) {
    case PixelKind::kGray:
      return JCS_GRAYSCALE;
    case PixelKind::kCmyk:
      return JCS_CMYK;
    case PixelKind::kRgb:
      break;
  }
  return JCS_RGB;
}

// libjpeg warns of lost pixels, and goes on with gray ones.
bool loses_pixels(int warning) {
  switch (warning) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
      return true;
    default:
      return false;
  }
}

class JpegReader {
 public:
  JpegReader() {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = fail;
    errors_.emit_message = look;
    errors_.output_message = ignore;
    progress_.progress_monitor = limit_scans;
    info_.client_data = this;
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  // Reads up to the pixels. Returns false after an error: message().
  bool read_header(std::span<const std::uint8_t> bytes) {
    if (setjmp(jump_.place) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, bytes.data(), bytes.size());
    jpeg_read_header(&info_, TRUE);
    info_.out_color_space = colors_of(kind());
    return true;
  }

  ImageSize size() const {
    return {.height = info_.image_height, .width = info_.image_width};
  }
  PixelKind kind() const { return kind_of(info_.jpeg_color_space); }

  // Fills the rows of `stride` bytes, and reads to the end of the image.
  bool read_rows(std::uint8_t* to, std::int64_t stride) {
    if (setjmp(jump_.place) != 0) return false;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = to + info_.output_scanline * stride;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  const char* message() const { return jump_.message; }

 private:
  static JpegReader& reader_of(j_common_ptr info) {
    return *static_cast<JpegReader*>(info->client_data);
  }
  static void fail(j_common_ptr info) {
    char why[JMSG_LENGTH_MAX];
    info->err->format_message(info, why);
    reader_of(info).jump_.leave(why);
  }
  static void look(j_common_ptr info, int level) {
    if (level < 0 && loses_pixels(info->err->msg_code)) fail(info);
  }
  static void ignore(j_common_ptr) {}
  static void limit_scans(j_common_ptr info) {
    JpegReader& reader = reader_of(info);
    if (reader.info_.input_scan_number > kMaxScans) {
      reader.jump_.leave("it has more than 500 scans");
    }
  }

  Jump jump_;
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  jpeg_decompress_struct info_ = {};
};

}  // namespace

Pixels decode_jpeg(const EncodedImage& image) {
  JpegReader reader;
  if (!reader.read_header(image.bytes)) fail_damaged(image, reader.message());
  Pixels pixels = make_pixels(image, reader.size(), reader.kind());
  const std::int64_t stride = pixels.samples.size(1) * pixels.samples.size(2);
  if (!reader.read_rows(pixels.samples.data<std::uint8_t>(), stride)) {
    fail_damaged(image, reader.message());
  }
  return pixels;
}

}  // namespace hvd::data
