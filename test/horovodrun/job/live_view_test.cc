// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/live_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::launcher {
namespace {

using namespace std::chrono_literals;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using Kind = Report::Kind;
using State = WatchedRank::State;

constexpr Clock::TimePoint kBegin{1000s};

class LiveViewTest : public testing::Test {
 protected:
  LiveViewTest() {
    job_.ranks.resize(3);
    for (RankRecord& rank : job_.ranks) {
      rank.started = Report{.host = "a"};
      rank.news = RankStatus{.kind = RankStatus::Kind::kConnected};
    }
  }

  void arrives(int rank, const RankActivity& activity, Clock::TimePoint now) {
    view_.arrived({.kind = Kind::kActivity,
                   .rank = rank,
                   .text = activity_text(activity)},
                  now);
  }

  JobRecord job_;
  LiveView view_{3, kBegin};
};

TEST_F(LiveViewTest, TellsHowFarEachRankHasCome) {
  job_.ranks[0].started.reset();
  job_.ranks[1].news.reset();
  job_.ranks[2].ended = Report{.kind = Kind::kKilled, .value = 9, .host = "a"};
  const auto ranks = view_.ranks(job_);
  EXPECT_EQ(ranks[0].state, State::kStarting);
  EXPECT_EQ(ranks[1].state, State::kRunning);
  EXPECT_EQ(ranks[2].state, State::kEnded);
  EXPECT_EQ(ranks[2].end, "signal 9");
  EXPECT_TRUE(ranks[2].has_failed);
}

TEST_F(LiveViewTest, ComparesReportsOfOneRank) {
  arrives(0, {.usage = {100, 50}, .progress = {{.collectives = 10}}}, kBegin);
  EXPECT_FALSE(view_.ranks(job_)[0].rate);
  arrives(0, {.usage = {1100, 60}, .progress = {{.collectives = 30}}},
          kBegin + 2s);
  const WatchedRank rank = view_.ranks(job_)[0];
  EXPECT_THAT(rank.rate, Optional(DoubleEq(10)));
  EXPECT_THAT(rank.cpu, Optional(DoubleEq(50)));
  EXPECT_EQ(rank.resident_kib, 60);
}

TEST_F(LiveViewTest, NamesTheRanksThatOthersWaitFor) {
  const RankProgress waiting = {
      .collectives = 5, .waiting = "grad", .waiting_ms = 4000};
  arrives(0, {.progress = waiting}, kBegin);
  arrives(1, {.progress = waiting}, kBegin);
  arrives(2, {.progress = {{.collectives = 5, .last = "grad"}}}, kBegin);
  const auto ranks = view_.ranks(job_);
  EXPECT_EQ(ranks[0].state, State::kWaiting);
  EXPECT_EQ(ranks[0].collective, "grad");
  EXPECT_EQ(ranks[0].waiting_s, 4);
  EXPECT_THAT(ranks[0].missing, ElementsAre(2));
  EXPECT_EQ(ranks[2].state, State::kInJob);
  EXPECT_THAT(ranks[2].missing, IsEmpty());
}

TEST_F(LiveViewTest, TakesShortWaitsForWork) {
  arrives(0, {.progress = {{.waiting = "grad", .waiting_ms = 500}}}, kBegin);
  EXPECT_EQ(view_.ranks(job_)[0].state, State::kInJob);
}

TEST_F(LiveViewTest, IgnoresReportsThatItCannotRead) {
  view_.arrived({.kind = Kind::kActivity, .rank = 0, .text = "x"}, kBegin);
  arrives(99, {}, kBegin);
  EXPECT_FALSE(view_.ranks(job_)[0].cpu);
}

TEST_F(LiveViewTest, MakesABlockTwiceASecond) {
  EXPECT_TRUE(view_.block(job_, {}, kBegin));
  EXPECT_FALSE(view_.block(job_, {}, kBegin + 499ms));
  EXPECT_EQ(view_.deadline(), kBegin + 500ms);
  EXPECT_TRUE(view_.block(job_, {}, kBegin + 500ms));
}

}  // namespace
}  // namespace hvd::launcher
