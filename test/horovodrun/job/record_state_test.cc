// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/record_state.h"

#include <gtest/gtest.h>

namespace hvd::launcher {
namespace {

// A job of two ranks that run; the first is a member of the job.
JobRecord running_job() {
  JobRecord job;
  job.ranks.resize(2);
  for (RankRecord& rank : job.ranks) rank.started = Report{.host = "a"};
  job.ranks[0].was_connected = true;
  return job;
}

const Report kExited = {.kind = Report::Kind::kExited};
const Report kFailed = {.kind = Report::Kind::kExited, .value = 3};

TEST(RecordState, TellsWhetherTheJobHasBegunAndFinishes) {
  JobRecord job = running_job();
  EXPECT_FALSE(has_begun(job));
  job.ranks[1].was_connected = true;
  EXPECT_TRUE(has_begun(job));
  EXPECT_FALSE(is_finishing(job));
  job.ranks[0].ended = kFailed;
  EXPECT_FALSE(is_finishing(job));
  job.ranks[0].ended = kExited;
  EXPECT_TRUE(is_finishing(job));
  job.ranks[0].is_leaving = true;
  EXPECT_FALSE(is_finishing(job));
}

TEST(RecordState, CountsNoNewcomerThatWaits) {
  JobRecord job = running_job();
  job.ranks[1].was_connected = true;
  job.ranks.push_back({.ended = kFailed, .is_newcomer = true});
  EXPECT_TRUE(all_have_started(job));
  EXPECT_TRUE(has_begun(job));
  EXPECT_FALSE(any_failure(job));
  job.ranks[2].was_connected = true;
  EXPECT_TRUE(any_failure(job));
  EXPECT_TRUE(is_open_failure(job.ranks[2]));
  job.ranks[2].is_lost = true;
  EXPECT_FALSE(is_open_failure(job.ranks[2]));
}

TEST(RecordState, KnowsARankThatWaitsForever) {
  JobRecord job = running_job();
  job.ranks[0].was_connected = false;
  job.ranks[0].news = RankStatus{.kind = RankStatus::Kind::kJoining};
  EXPECT_FALSE(waits_forever(job));
  job.ranks[1].ended = kExited;
  EXPECT_TRUE(waits_forever(job));
}

TEST(RecordState, TellsWhetherAllHaveEnded) {
  JobRecord job = running_job();
  job.ranks[0].ended = kExited;
  EXPECT_FALSE(all_have_ended(job));
  job.ranks[1].agent_is_gone = true;
  EXPECT_TRUE(all_have_ended(job));
}

}  // namespace
}  // namespace hvd::launcher
