// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/watch/rank_activity.h"

#include <gtest/gtest.h>

namespace hvd::launcher {
namespace {

TEST(RankActivity, SurvivesAsText) {
  RankActivity activity = {.usage = {.cpu_ms = 120, .resident_kib = 4711}};
  auto parsed = parse_rank_activity(activity_text(activity));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->usage.cpu_ms, 120);
  EXPECT_EQ(parsed->usage.resident_kib, 4711);
  EXPECT_FALSE(parsed->progress);
  activity.progress = {.collectives = 7, .last = "a"};
  parsed = parse_rank_activity(activity_text(activity));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->progress, activity.progress);
}

TEST(RankActivity, RefusesOtherTexts) {
  for (const char* text : {"", "1", "1 x", "1 2 3", "1 2 progress 3"}) {
    EXPECT_FALSE(parse_rank_activity(text)) << text;
  }
}

}  // namespace
}  // namespace hvd::launcher
