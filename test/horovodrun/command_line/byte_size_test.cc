// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/byte_size.h"

#include <gtest/gtest.h>

namespace hvd::launcher {
namespace {

TEST(ByteSize, HasUnitsByPowersOf1024) {
  EXPECT_EQ(parse_byte_size("1"), 1);
  EXPECT_EQ(parse_byte_size("500K"), 500 * 1024);
  EXPECT_EQ(parse_byte_size("100m"), 100 << 20);
  EXPECT_EQ(parse_byte_size("2G"), std::int64_t{2} << 30);
}

TEST(ByteSize, RefusesOtherTexts) {
  for (const char* text : {"", "K", "0", "-1", "+1", "1.5M", "1T", "1 K", "M1",
                           "9999999999999G", "99999999999999999999"}) {
    EXPECT_EQ(parse_byte_size(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace hvd::launcher
