// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/printable.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"

namespace hvd {
namespace {

using namespace std::string_view_literals;

TEST(Printable, KeepsValidUtf8) {
  for (const std::string_view text :
       {""sv, "fc1.weight"sv, "two\nlines\tof text"sv, "Ångström"sv, "重み"sv,
        "\xF0\x9F\x90\xB4"sv, "\xF4\x8F\xBF\xBF"sv, "\xED\x9F\xBF"sv}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, WritesEveryOtherByteAsANumber) {
  struct Case {
    std::string_view text;
    std::string wanted;
  };
  const std::vector<Case> cases = {
      {"caf\xE9"sv, "caf\\xe9"},                       // Latin-1.
      {"a\xFF\xFE"sv, "a\\xff\\xfe"},                  // Never a byte of UTF-8.
      {"\xC0\xAF"sv, "\\xc0\\xaf"},                    // '/' in two bytes,
      {"\xE0\x80\xAF"sv, "\\xe0\\x80\\xaf"},           // in three,
      {"\xF0\x80\x80\xAF"sv, "\\xf0\\x80\\x80\\xaf"},  // and in four.
      {"\xED\xA0\x80"sv, "\\xed\\xa0\\x80"},           // Lone surrogate.
      {"\xF4\x90\x80\x80"sv, "\\xf4\\x90\\x80\\x80"},  // Above U+10FFFF.
      {"\xE9\x87"sv, "\\xe9\\x87"},                    // Cut off.
      {"\xE9\x87x"sv, "\\xe9\\x87x"},
      {"\x1B[31mred\0"sv, "\\x1b[31mred\\x00"},
      {"\x7F\r"sv, "\\x7f\\x0d"}};
  for (const Case& c : cases) EXPECT_EQ(printable(c.text), c.wanted);
}

TEST(Printable, EscapesErrorMessages) {
  const Error error(absl::DataLossError("'w\xFF' is damaged"));
  EXPECT_STREQ(error.what(), "'w\\xff' is damaged");
  EXPECT_EQ(error.status(), absl::DataLossError("'w\\xff' is damaged"));
}

}  // namespace
}  // namespace hvd
