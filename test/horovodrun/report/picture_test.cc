// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace hvd::launcher::report {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != text.npos;
       at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

TEST(Picture, DrawsWideParts) {
  const auto rectangles = drawn({{{0, 10}, 1}, {{20, 200}, 2}}, {5, 105}, 100);
  ASSERT_EQ(rectangles.size(), 2);
  EXPECT_EQ(rectangles[0].at, (Interval{5, 10}));
  EXPECT_EQ(rectangles[1].at, (Interval{20, 105}));
  EXPECT_EQ(rectangles[1].kind, 2);
  EXPECT_THAT(drawn({{{0, 10}, 1}}, {20, 30}, 100), IsEmpty());
  EXPECT_THAT(drawn({{{0, 10}, 1}}, {5, 5}, 100), IsEmpty());
}

TEST(Picture, JoinsNarrowParts) {
  const auto rectangles = drawn({{{10.1, 10.2}, 1},
                                 {{10.3, 10.8}, 2},
                                 {{10.9, 10.95}, 1},
                                 {{11.5, 11.6}, 1}},
                                {0, 100}, 100);
  ASSERT_EQ(rectangles.size(), 2);
  EXPECT_EQ(rectangles[0].at, (Interval{10, 11}));
  EXPECT_EQ(rectangles[0].kind, 2);
  EXPECT_EQ(rectangles[1].kind, 1);
}

TEST(Picture, HasBoundedRectangles) {
  constexpr std::size_t kRanks = 200;
  constexpr int kParts = 20'000;
  std::vector<RankTrace> ranks(kRanks, {.kinds_of_work = {"backward"}});
  Analysis analysis = {.latest = 150};
  for (int i = 0; i < kParts; ++i) {
    const double at = 10.0 * i;
    ranks[0].work.push_back({0, {at, at + 5}});
  }
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    ranks[rank].rank = static_cast<int>(rank);
    ranks[rank].work = ranks[0].work;
    RankFacts facts = {.rank = static_cast<int>(rank)};
    for (const WorkSpan& one : ranks[0].work) {
      facts.exposed.push_back({one.at.begin, one.at.begin + 2});
      facts.hidden.push_back({one.at.begin + 3, one.at.begin + 4});
    }
    analysis.ranks.push_back(std::move(facts));
  }
  const std::string svg =
      picture_of(ranks, analysis, {0, 10.0 * kParts}, "all");
  EXPECT_LE(count(svg, "<rect"), kMaxRectangles / 2);
  EXPECT_GE(count(svg, "class=\"exposed\""), 1000);
  EXPECT_GE(count(svg, "class=\"work work0\""), 1000);
  EXPECT_EQ(count(svg, ">rank "), kMaxDrawnRanks);
  EXPECT_THAT(svg, HasSubstr(">rank 14<"));
  EXPECT_THAT(svg, HasSubstr(">rank 150<"));
}

TEST(Picture, ShowsAStepOfMedianLength) {
  EXPECT_EQ(median_step({.step_begins = {0, 50, 62, 70}, .step_us = 12}),
            (Interval{50, 62}));
  EXPECT_EQ(median_step({}), Interval());
}

TEST(Picture, EscapesText) {
  EXPECT_EQ(escaped("<a b=\"c\" d='e'>&\x01"),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;\\x01");
}

}  // namespace
}  // namespace hvd::launcher::report
