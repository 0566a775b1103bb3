// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hvd::launcher::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Document, ShowsThreeDigits) {
  EXPECT_EQ(shown_time(0), "0");
  EXPECT_EQ(shown_time(1.234), "1.23 us");
  EXPECT_EQ(shown_time(-12'340), "-12.3 ms");
  EXPECT_EQ(shown_time(123'400), "123 ms");
  EXPECT_EQ(shown_time(1'234'000), "1.23 s");
  EXPECT_EQ(shown_bytes(4), "4 B");
  EXPECT_EQ(shown_bytes(25'600'000), "25.6 MB");
  EXPECT_EQ(shown_bytes(1.5e15), "1500 TB");
}

TEST(Document, AlignsColumns) {
  EXPECT_EQ(to_text({{.title = "Ranks",
                      .lines = {"A line."},
                      .tables = {{.header = {"rank", "time"},
                                  .rows = {{"0", "12 ms"}, {"1\u00e4", ""}}}}},
                     {.title = "Other"}}),
            "Ranks\n"
            "  A line.\n"
            "  rank   time\n"
            "  0     12 ms\n"
            "  1\u00e4\n"
            "\nOther\n");
}

TEST(Document, TellsOfDamageAndFailures) {
  RankTrace rank = {.rank = 2,
                    .is_complete = false,
                    .lost_events = 7,
                    .break_reason = "rank 1 is lost",
                    .in_flight = {"a", "b", "c", "d", "e", "f\x01"}};
  const std::string text =
      to_text(document_of({rank}, {.ranks = {{.rank = 2}}}));
  EXPECT_THAT(text, HasSubstr("rank 2: 7 events are missing"));
  EXPECT_THAT(text, HasSubstr("rank 2: the job broke: rank 1 is lost"));
  EXPECT_THAT(text, HasSubstr("rank 2: the file ends in the middle"));
  EXPECT_THAT(text,
              HasSubstr("in flight at the end: a, b, c, d, e and 1 more"));
}

TEST(Document, HasTheFirstTensorsOfMany) {
  Analysis analysis = {.ranks = {{.rank = 0}}};
  for (int i = 0; i < 100; ++i) {
    analysis.tensors.push_back({.name = "t" + std::to_string(i) + "."});
  }
  const std::string text = to_text(document_of({{.rank = 0}}, analysis));
  EXPECT_THAT(text, HasSubstr("t29."));
  EXPECT_THAT(text, Not(HasSubstr("t30.")));
  EXPECT_THAT(text, HasSubstr("The first 30 of 100."));
}

}  // namespace
}  // namespace hvd::launcher::report
