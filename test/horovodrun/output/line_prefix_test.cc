// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/line_prefix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::launcher {
namespace {

using ::testing::MatchesRegex;

constexpr char kTimePattern[] =
    "... ... .. [0-9][0-9]:[0-9][0-9]:[0-9][0-9] 20[0-9][0-9]";
constexpr std::time_t kArrival = 1764025200;

TEST(LinePrefix, BeginsEachLineOnce) {
  LinePrefix prefix("[3]<stdout>:", /*has_time=*/true);
  const std::string begin = std::string(kTimePattern) + "\\[3\\]<stdout>:";
  EXPECT_THAT(prefix.prefixed("a\nb", kArrival),
              MatchesRegex(begin + "a\n" + begin + "b"));
  EXPECT_EQ(prefix.prefixed("c\n", kArrival), "c\n");
  EXPECT_THAT(prefix.prefixed("\n", kArrival), MatchesRegex(begin + "\n"));
  EXPECT_EQ(prefix.prefixed("", kArrival), "");
}

TEST(LinePrefix, LeavesTheTimeOut) {
  std::optional<LinePrefix> prefix = prefix_of({.is_on = true}, 3, true);
  ASSERT_TRUE(prefix);
  EXPECT_EQ(prefix->prefixed("a\nb\n", kArrival),
            "[3]<stderr>:a\n[3]<stderr>:b\n");
  EXPECT_FALSE(prefix_of({}, 3, true));
}

TEST(LinePrefix, HasColorsWhereTheStreamTakesThem) {
  const PrefixStyle style = {.is_on = true, .colors_errors = true};
  EXPECT_EQ(prefix_of(style, 0, false)->prefixed("a", kArrival),
            "[0]<stdout>:a");
  EXPECT_EQ(prefix_of(style, 0, true)->prefixed("a", kArrival),
            "\x1b[32m[0]<stderr>:\x1b[0ma");
}

TEST(LinePrefix, PassesItsStyleOnAsAWord) {
  for (const PrefixStyle& style :
       {PrefixStyle{}, PrefixStyle{.is_on = true},
        PrefixStyle{.is_on = true, .has_time = true, .colors_output = true},
        PrefixStyle{.is_on = true, .colors_errors = true}}) {
    EXPECT_EQ(parse_prefix_style(to_word(style)), style);
  }
}

}  // namespace
}  // namespace hvd::launcher
