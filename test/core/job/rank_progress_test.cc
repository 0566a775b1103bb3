// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/job/rank_progress.h"

#include <gtest/gtest.h>

namespace hvd {
namespace {

TEST(RankProgress, SurvivesAsText) {
  for (const RankProgress& progress :
       {RankProgress{}, RankProgress{.collectives = 12, .last = "fc1.weight"},
        RankProgress{.collectives = 12,
        .last = "a",
        .waiting = "fc2.weight",
        .waiting_ms = 4711}}) {
    EXPECT_EQ(parse_rank_progress(progress_text(progress)), progress);
  }
}

TEST(RankProgress, MakesAShortWordOfEachName) {
  const std::string text = progress_text({.collectives = INT64_MAX,
                                          .last = std::string(500, 'x'),
                                          .waiting = "my\nown name",
                                          .waiting_ms = INT64_MAX});
  EXPECT_LE(text.size(), kMaxRankProgressBytes);
  const auto parsed = parse_rank_progress(text);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->waiting, "my_own_name");
  EXPECT_EQ(parsed->last, std::string(60, 'x'));
}

TEST(RankProgress, RefusesOtherTexts) {
  for (const char* text : {"", "progress", "progress 1 a b", "progress x a b 1",
                           "progress 1 a b 1 2", "progress -1 a b 1",
                           "progress 1  b 1", "broken 1 a b 1"}) {
    EXPECT_FALSE(parse_rank_progress(text)) << text;
  }
}

}  // namespace
}  // namespace hvd
