// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/memory/wire.h"

#include <gtest/gtest.h>

#include <limits>

namespace hvd {
namespace {

TEST(Wire, IsLittleEndianAndLengthPrefixed) {
  WireWriter writer;
  writer.u8(1);
  writer.u32(0x05040302u);
  writer.text("ab");
  EXPECT_EQ(writer.take(), std::string("\x01\x02\x03\x04\x05\x02\x00\x00\x00"
                                       "ab",
                                       11));
}

TEST(Wire, EveryValueComesBack) {
  WireWriter writer;
  writer.u8(255);
  writer.u64(std::numeric_limits<std::uint64_t>::max());
  writer.i64(std::numeric_limits<std::int64_t>::min());
  writer.f64(-0.0);
  writer.f64(std::numeric_limits<double>::infinity());
  writer.flag(true);
  writer.flag(false);
  writer.text(std::string("a\0b", 3));
  writer.text("");
  const std::string bytes = writer.take();
  WireReader reader(bytes);
  EXPECT_EQ(reader.u8(), 255);
  EXPECT_EQ(reader.u64(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(reader.i64(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(std::bit_cast<std::uint64_t>(reader.f64()), std::uint64_t{1} << 63);
  EXPECT_EQ(reader.f64(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(reader.flag());
  EXPECT_FALSE(reader.flag());
  EXPECT_EQ(reader.text(), std::string("a\0b", 3));
  EXPECT_EQ(reader.text(), "");
  EXPECT_TRUE(reader.finished());
}

TEST(Wire, HoldsManyValues) {
  const std::string text(1000, 'x');
  WireWriter writer;
  for (std::uint32_t i = 0; i < 100; ++i) {
    writer.u8(static_cast<std::uint8_t>(i));
    writer.u32(i);
  }
  writer.text(text);
  writer.u64(7);
  const std::string bytes = writer.take();
  EXPECT_EQ(bytes.size(), 100 * 5 + 4 + text.size() + 8);
  WireReader reader(bytes);
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(reader.u8(), i);
    EXPECT_EQ(reader.u32(), i);
  }
  EXPECT_EQ(reader.text(), text);
  EXPECT_EQ(reader.u64(), 7u);
  EXPECT_TRUE(reader.finished());
}

TEST(Wire, AReaderThatRanOutReturnsZerosAndStaysFailed) {
  WireReader reader("abc");
  EXPECT_EQ(reader.u32(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.u8(), 0);  // Bytes are left, but the reader failed.
  EXPECT_EQ(reader.u64(), 0u);
  EXPECT_EQ(reader.text(), "");
  EXPECT_EQ(reader.count(1), 0u);
  EXPECT_FALSE(reader.flag());
  EXPECT_FALSE(reader.ok());
}

TEST(Wire, AnEmptyMessageIsFinished) {
  WireReader reader("");
  EXPECT_TRUE(reader.finished());
  reader.u8();
  EXPECT_FALSE(reader.ok());
}

TEST(Wire, UnreadBytesAreNotFinished) {
  WireReader reader("ab");
  reader.u8();
  EXPECT_TRUE(reader.ok());
  EXPECT_FALSE(reader.finished());
}

TEST(Wire, ATextLongerThanItsMessageIsRefused) {
  for (const std::uint32_t length : {4u, 0x7fffffffu, 0xffffffffu}) {
    WireWriter writer;
    writer.u32(length);
    const std::string bytes = writer.take() + "abc";
    WireReader reader(bytes);
    EXPECT_EQ(reader.text(), "");
    EXPECT_FALSE(reader.ok());
  }
}

TEST(Wire, ACountIsBoundedByTheRemainingBytes) {
  WireWriter writer;
  writer.u32(3);
  const std::string bytes = writer.take() + std::string(12, 'x');
  WireReader fits(bytes);
  EXPECT_EQ(fits.count(4), 3u);
  EXPECT_TRUE(fits.ok());
  WireReader too_many(bytes);
  EXPECT_EQ(too_many.count(5), 0u);
  EXPECT_FALSE(too_many.ok());
}

TEST(Wire, AFlagIsTrueOrFalse) {
  WireReader reader("\x02");
  EXPECT_FALSE(reader.flag());
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace hvd
