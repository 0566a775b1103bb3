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
  LinePrefix prefix("[3]<stdout>:");
  const std::string begin = std::string(kTimePattern) + "\\[3\\]<stdout>:";
  EXPECT_THAT(prefix.prefixed("a\nb", kArrival),
              MatchesRegex(begin + "a\n" + begin + "b"));
  EXPECT_EQ(prefix.prefixed("c\n", kArrival), "c\n");
  EXPECT_THAT(prefix.prefixed("\n", kArrival), MatchesRegex(begin + "\n"));
  EXPECT_EQ(prefix.prefixed("", kArrival), "");
}

}  // namespace
}  // namespace hvd::launcher
