// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/snapshot/manifest.h"

#include <gtest/gtest.h>

#include <string>

namespace hvd::snapshot {
namespace {

Manifest example() {
  return {.step = 7,
          .note = std::string("a\0b", 3),
          .values = {{"w", 100}, {"empty", 0}, {"b", 28}},
          .parts = {{64, 1}, {64, 0xffffffffffffffff}}};
}

TEST(Manifest, IsDecodedAsItWas) {
  const auto decoded = decode_manifest(encode(example()));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->step, 7);
  EXPECT_EQ(decoded->note, example().note);
  ASSERT_EQ(decoded->values.size(), 3u);
  EXPECT_EQ(decoded->values[2].name, "b");
  EXPECT_EQ(decoded->values[2].bytes, 28u);
  ASSERT_EQ(decoded->parts.size(), 2u);
  EXPECT_EQ(decoded->parts[1].checksum, 0xffffffffffffffff);
  EXPECT_EQ(decoded->bytes(), 128u);
}

TEST(Manifest, EachFlippedBitAndEachMissingByteIsNoticed) {
  const std::string bytes = encode(example());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(decode_manifest(bytes.substr(0, i)).ok()) << i;
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      EXPECT_FALSE(decode_manifest(flipped).ok()) << i;
    }
  }
}

TEST(Manifest, SizesThatDoNotFitAreRefused) {
  Manifest manifest = example();
  manifest.parts.pop_back();
  EXPECT_FALSE(decode_manifest(encode(manifest)).ok());
  manifest = example();
  manifest.values = {{"a", INT64_MAX}, {"b", INT64_MAX}};
  EXPECT_FALSE(decode_manifest(encode(manifest)).ok());
}

TEST(PartRange, CutsAllBytes) {
  for (const std::uint64_t bytes : {0u, 1u, 63u, 64u, 65u, 1000u, 4096u}) {
    for (const int count : {1, 2, 3, 7, 64}) {
      std::uint64_t at = 0;
      for (int i = 0; i < count; ++i) {
        const ByteRange range = part_range(bytes, i, count);
        EXPECT_EQ(range.begin, at);
        EXPECT_TRUE(range.end == bytes || range.end % 64 == 0);
        at = range.end;
      }
      EXPECT_EQ(at, bytes);
    }
  }
}

}  // namespace
}  // namespace hvd::snapshot
