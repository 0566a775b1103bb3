// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/last_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace hvd::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(LastLines, RemembersTheLastTen) {
  LastLines last;
  EXPECT_THAT(last.lines(), IsEmpty());
  for (int i = 0; i < 12; ++i) last.feed(absl::StrCat(i, "\n"));
  EXPECT_THAT(last.lines(),
              ElementsAre("2", "3", "4", "5", "6", "7", "8", "9", "10", "11"));
  last.feed("a\n\nb\nunfinished");
  EXPECT_THAT(last.lines(), ElementsAre("5", "6", "7", "8", "9", "10", "11",
                                        "a", "b", "unfinished"));
}

TEST(LastLines, MakesOneShortPrintableLineOfEach) {
  LastLines last;
  last.feed("10%\r20%\r\n");
  last.feed("a\tb\x1b[31m\n");
  last.feed(std::string(1000, 'x') + "\n");
  const auto lines = last.lines();
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0], "20%");
  EXPECT_EQ(lines[1], "a b [31m");
  EXPECT_THAT(lines[2], SizeIs(LastLines::kMaxLineBytes));
  EXPECT_THAT(lines[2], EndsWith("x..."));
}

TEST(LastLines, KeepsTheEndOfALongStream) {
  LastLines last;
  for (int i = 0; i < 100; ++i) last.feed(std::string(5000, 'x'));
  last.feed("\nend\n");
  EXPECT_EQ(last.lines().back(), "end");
}

TEST(LastLines, RecognizesLinesThatAreShownAlready) {
  const std::vector<std::string> lines = {"a", "b"};
  EXPECT_TRUE(ends_with_lines({"x", "a", "b"}, lines));
  EXPECT_TRUE(ends_with_lines({"[0]<stderr>:a", "[0]<stderr>:b"}, lines));
  EXPECT_FALSE(ends_with_lines({"a", "b", "of another rank"}, lines));
  EXPECT_FALSE(ends_with_lines({"b"}, lines));
  EXPECT_TRUE(ends_with_lines({}, {}));
}

}  // namespace
}  // namespace hvd::launcher
