// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/line_merger.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace hvd::launcher {
namespace {

using namespace std::chrono_literals;

class LineMergerTest : public testing::Test {
 protected:
  LineMergerTest() {
    for (int i = 0; i < 3; ++i) merger_.add_source();
  }

  // Returns the text that the merger passes on at once.
  std::string feed(std::size_t source, const std::string& bytes) {
    std::string text;
    merger_.feed(source, bytes, now_, &text);
    return text;
  }
  std::string finish(std::size_t source) {
    std::string text;
    merger_.finish(source, now_, &text);
    return text;
  }
  std::string look_after(Clock::Duration time) {
    now_ += time;
    std::string text;
    merger_.look(now_, &text);
    return text;
  }

  LineMerger merger_;
  Clock::TimePoint now_{};
};

TEST_F(LineMergerTest, PassesOnOutputOfALoneWriter) {
  EXPECT_EQ(feed(0, "one\ntwo\nthr"), "one\ntwo\nthr");
  EXPECT_EQ(feed(0, "ee"), "ee");
  EXPECT_EQ(feed(0, "\n"), "\n");
  EXPECT_EQ(merger_.deadline(), Clock::TimePoint::max());
}

TEST_F(LineMergerTest, KeepsOthersOutOfALineThatIsBegun) {
  EXPECT_EQ(feed(0, "name? "), "name? ");
  EXPECT_EQ(feed(1, "one\ntwo\nhal"), "");
  EXPECT_EQ(feed(2, "three\n"), "");
  EXPECT_EQ(feed(0, "me\n"), "me\none\ntwo\nthree\nhal");
  EXPECT_EQ(feed(1, "f\n"), "f\n");
}

TEST_F(LineMergerTest, SwitchesSourcesAtTheEndOfALine) {
  EXPECT_EQ(feed(0, "a"), "a");
  EXPECT_EQ(feed(1, "b\n"), "");
  EXPECT_EQ(feed(0, "a\nA"), "a\nb\nA");
  EXPECT_EQ(feed(2, "c"), "");
  // Sources take turns, even if the previous one has more output.
  EXPECT_EQ(feed(0, "A\nmore"), "A\nc");
  EXPECT_EQ(feed(2, "\n"), "\nmore");
}

TEST_F(LineMergerTest, LetsALineBeginByTurns) {
  EXPECT_EQ(feed(0, "a"), "a");
  EXPECT_EQ(feed(1, "b"), "");
  EXPECT_EQ(feed(2, "c"), "");
  EXPECT_EQ(feed(0, "\n"), "\nb");
  EXPECT_EQ(feed(1, "\nB"), "\nc");
}

TEST_F(LineMergerTest, KeepsALineWholeThatCameInPieces) {
  EXPECT_EQ(feed(0, "a"), "a");
  EXPECT_EQ(feed(1, "one "), "");
  EXPECT_EQ(feed(1, "line\n"), "");
  EXPECT_EQ(feed(2, "another\n"), "");
  EXPECT_EQ(feed(0, "\n"), "\none line\nanother\n");
}

TEST_F(LineMergerTest, DoesNotWaitForEverForTheEndOfALine) {
  EXPECT_EQ(feed(0, "name? "), "name? ");
  EXPECT_EQ(feed(1, "one\n"), "");
  EXPECT_EQ(merger_.deadline(), now_ + LineMerger::kLineTimeout);
  EXPECT_EQ(look_after(LineMerger::kLineTimeout - 1ms), "");
  EXPECT_EQ(look_after(1ms), "one\n");
  EXPECT_EQ(merger_.deadline(), Clock::TimePoint::max());
  EXPECT_EQ(feed(0, "me\n"), "me\n");
}

TEST_F(LineMergerTest, PassesOnALastLineWithoutItsEnd) {
  EXPECT_EQ(feed(0, "a"), "a");
  EXPECT_EQ(feed(1, "b\nlast"), "");
  EXPECT_EQ(finish(1), "");
  EXPECT_EQ(finish(0), "b\nlast");
  EXPECT_EQ(merger_.deadline(), Clock::TimePoint::max());
}

TEST_F(LineMergerTest, BoundsTheBufferOfAWaitingSource) {
  feed(0, "a");
  EXPECT_FALSE(merger_.is_full(1));
  feed(1, std::string(1 << 20, 'b'));
  EXPECT_TRUE(merger_.is_full(1));
  EXPECT_FALSE(merger_.is_full(0));
  EXPECT_EQ(feed(0, "\n").size(), 1u + (1 << 20));
  EXPECT_FALSE(merger_.is_full(1));
}

}  // namespace
}  // namespace hvd::launcher
