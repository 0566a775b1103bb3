// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/memory/fnv1a.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

namespace hvd {
namespace {

// The published values of the algorithm for "" and "a".
TEST(Fnv1a, HasThePublishedValues) {
  Fnv1a hash;
  EXPECT_EQ(hash.value, 0xcbf29ce484222325u);
  hash.add(std::string_view("a"));
  EXPECT_EQ(hash.value, 0xaf63dc4c8601ec8cu);
}

TEST(Fnv1a, TakesTheBytesOfANumberTheLowestFirst) {
  Fnv1a number;
  number.add(std::uint64_t{0x62'61});
  Fnv1a text;
  text.add(std::string_view("ab\0\0\0\0\0\0", 8));
  EXPECT_EQ(number.value, text.value);
}

}  // namespace
}  // namespace hvd
