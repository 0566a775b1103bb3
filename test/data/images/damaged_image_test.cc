// SPDX-License-Identifier: Apache-2.0
// Damaged, huge and foreign files are errors that name the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "horovodpp/data/images/image_file.h"
#include "horovodpp/data/images/pixels.h"
#include "test/data/images/fixture_images.h"
#include "test/support/expect_error.h"

namespace hvd::data {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

std::uint32_t big_endian(const std::uint8_t* p) {
  return (std::uint32_t{p[0]} << 24) | (std::uint32_t{p[1]} << 16) |
         (std::uint32_t{p[2]} << 8) | p[3];
}

void put_big_endian(std::uint8_t* p, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) {
    p[i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  }
}

// Gives the chunks of a PNG file their checksums, so that a mutation reaches
// the decoder.
void mend_checksums(Bytes& bytes) {
  std::size_t at = 8;
  while (at + 12 <= bytes.size()) {
    const std::size_t length = big_endian(&bytes[at]);
    if (length > bytes.size() - at - 12) return;
    const auto sum = crc32(0, &bytes[at + 4], static_cast<uInt>(length + 4));
    put_big_endian(&bytes[at + 8 + length], static_cast<std::uint32_t>(sum));
    at += length + 12;
  }
}

Status status_of(const Bytes& bytes, const ImageOptions& options = {}) {
  return error_of([&] { decode_image(bytes, "a/cat", options); });
}

TEST(DamagedImage, IsAnErrorAtAnyLength) {
  for (const char* name : {"rgb.png", "interlaced.png", "rgb.jpg",
                           "progressive.jpg", "cmyk.jpg"}) {
    if (!can_read(name)) continue;
    const Bytes whole = bytes_of(fixture_image(name));
    for (std::size_t length = 0; length < whole.size(); length += 3) {
      const Status status =
          status_of(Bytes(whole.begin(), whole.begin() + length));
      ASSERT_EQ(status.code(), StatusCode::kDataLoss) << name << " " << length;
      ASSERT_THAT(status.message(), HasSubstr("'a/cat' is "));
    }
  }
}

TEST(DamagedImage, OfWrongChecksumIsAnError) {
  HVD_SKIP_WITHOUT("rgb.png");
  Bytes bytes = bytes_of(fixture_image("rgb.png"));
  bytes[bytes.size() - 14] ^= 1;  // The checksum of the pixels.
  EXPECT_THAT(status_of(bytes).message(), HasSubstr("CRC error"));
}

// Byte flips, cuts and repeated pieces: each file is decoded, or an error.
TEST(DamagedImage, OfAnyMutationIsAnImageOrAnError) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return random() % n; };
  int images = 0;
  for (const std::string& name : fixture_image_names()) {
    if (!can_read(name)) continue;
    const Bytes whole = bytes_of(fixture_image(name));
    for (int i = 0; i < 100; ++i) {
      Bytes bytes = whole;
      for (std::size_t k = 0; k <= below(3); ++k) {
        bytes[below(bytes.size())] ^= static_cast<std::uint8_t>(1 << below(8));
      }
      if (below(4) == 0) {
        const Bytes tail(bytes.begin() + static_cast<long>(below(bytes.size())),
                         bytes.end());
        bytes.insert(bytes.end(), tail.begin(), tail.end());
      }
      if (below(4) == 0) bytes.resize(below(bytes.size()));
      if (name.ends_with(".png")) mend_checksums(bytes);
      const Status status = status_of(bytes, {.max_pixels = 1 << 20});
      if (status.ok()) {
        ++images;
      } else {
        ASSERT_THAT(status.message(), HasSubstr("'a/cat'"));
      }
    }
  }
  if (can_read("rgb.png")) {
    EXPECT_GT(images, 10);
  }
}

// A file of few bytes that claims many pixels.
TEST(HugeImage, IsRefusedBeforeItIsDecoded) {
  HVD_SKIP_WITHOUT("rgb.png");
  Bytes png = bytes_of(fixture_image("rgb.png"));
  put_big_endian(&png[16], 100000);
  put_big_endian(&png[20], 100000);
  mend_checksums(png);
  EXPECT_EQ(status_of(png).code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status_of(png).message(),
              HasSubstr("'a/cat' claims 100000 x 100000 pixels"));
}

TEST(HugeImage, OfJpegIsRefused) {
  HVD_SKIP_WITHOUT("rgb.jpg");
  const Bytes jpeg = bytes_of(fixture_image("rgb.jpg"));
  const Status status = status_of(jpeg, {.max_pixels = 19 * 13 - 1});
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(status_of(jpeg, {.max_pixels = 19 * 13}).ok());
}

// Each further scan of a progressive file costs a pass over the image.
TEST(HugeImage, OfManyScansIsRefused) {
  HVD_SKIP_WITHOUT("progressive.jpg");
  Bytes bytes = bytes_of(fixture_image("progressive.jpg"));
  const std::uint8_t start_of_scan[] = {0xFF, 0xDA};
  const auto begin =
      std::search(bytes.begin(), bytes.end(), start_of_scan, start_of_scan + 2);
  // A marker; 0 is none.
  const auto end = std::adjacent_find(
      begin + 2, bytes.end(),
      [](std::uint8_t a, std::uint8_t b) { return a == 0xFF && b != 0; });
  Bytes scans;
  for (int i = 0; i < 600; ++i) scans.insert(scans.end(), begin, end);
  bytes.insert(end, scans.begin(), scans.end());
  EXPECT_THAT(status_of(bytes).message(), HasSubstr("more than 500 scans"));
}

TEST(ForeignImage, IsAnError) {
  const Bytes gif = {'G', 'I', 'F', '8', '9', 'a'};
  EXPECT_THAT(status_of(gif).message(),
              HasSubstr("'a/cat' is neither PNG nor JPEG"));
  EXPECT_ERROR(Error, "/no/such.png", read_image("/no/such.png"));
}

TEST(ForeignImage, NamesTheMissingLibrary) {
  const std::string name = "a/cat.png";
  EXPECT_ERROR(Error, "install libpng-dev and build horovodpp again",
               fail_without({.bytes = {}, .name = name}, "PNG", "libpng-dev"));
}

}  // namespace
}  // namespace hvd::data
