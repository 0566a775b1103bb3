// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::telemetry {
namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

TEST(Log, WritesInHorovodsFormat) {
  CaptureStderr();
  Log(3, {}).warning("text");
  EXPECT_THAT(GetCapturedStderr(),
              ::testing::MatchesRegex(
                  "\\[[0-9-]+ [0-9:]+\\.[0-9]+: W\\] \\[3\\]: text\n"));
}

TEST(Log, MayHideTheTime) {
  CaptureStderr();
  Log(0, {.hide_time = true}).error("it {} is");  // Not a format string.
  EXPECT_EQ(GetCapturedStderr(), "[E] [0]: it {} is\n");
}

TEST(Log, DropsMessagesBelowItsLevel) {
  CaptureStderr();
  Log log(0, {.level = LogLevel::kError});
  log.debug("a");
  log.info("b");
  log.warning("c");
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST(Log, KnowsItsLevelsByNameInAnyCase) {
  EXPECT_EQ(log_level_from("TRACE"), LogLevel::kTrace);
  EXPECT_EQ(log_level_from("fatal"), LogLevel::kFatal);
  EXPECT_EQ(log_level_from("loud"), std::nullopt);
}

}  // namespace
}  // namespace hvd::telemetry
