// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/hidden_streams.h"

#include <gtest/gtest.h>

namespace hvd::launcher {
namespace {

constexpr int kBoth = kHiddenOutput | kHiddenErrors;

TEST(HiddenStreams, AreThoseOfRedirects) {
  EXPECT_EQ(*redirected_streams("0", 5), 0);
  EXPECT_EQ(*redirected_streams("3", 5), kBoth);
  EXPECT_EQ(*redirected_streams("0:1,2:2", 0), kHiddenOutput);
  EXPECT_EQ(*redirected_streams("0:1,2:2", 1), 0);
  EXPECT_EQ(*redirected_streams("0:1,2:2", 2), kHiddenErrors);
  for (const char* text : {"", "4", "-1", "0:4", "a:1", "0:1,", "0:1:2", ":"}) {
    EXPECT_FALSE(redirected_streams(text, 0).ok()) << text;
  }
}

TEST(HiddenStreams, AreAllOfRanksThatTheFilterLacks) {
  EXPECT_EQ(hidden_streams({}, 0), 0);
  EXPECT_EQ(hidden_streams({{kShownRanksVariable, "1,3"}}, 1), 0);
  EXPECT_EQ(hidden_streams({{kShownRanksVariable, "1,3"}}, 2), kBoth);
  EXPECT_EQ(hidden_streams(
                {{kShownRanksVariable, "1"}, {kRedirectsVariable, "2"}}, 1),
            kHiddenErrors);
}

}  // namespace
}  // namespace hvd::launcher
