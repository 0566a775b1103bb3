// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/departures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <vector>

namespace hvd::launcher {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Signal = Departures::Signal;

// A job of three members.
class DeparturesTest : public testing::Test {
 protected:
  DeparturesTest() {
    for (int i = 0; i < 3; ++i) job_.ranks.push_back({.was_connected = true});
  }

  // As the caller of due() does.
  std::vector<Signal> due(const std::vector<int>& displaced) {
    std::vector<Signal> signals = departures_.due(displaced, job_, now_);
    for (const Signal& signal : signals) rank(signal.rank).is_leaving = true;
    return signals;
  }
  RankRecord& rank(int number) {
    return job_.ranks[static_cast<std::size_t>(number)];
  }
  void end(int number) {
    rank(number).ended = Report{.kind = Report::Kind::kKilled, .value = 9};
  }

  JobRecord job_;
  Departures departures_{5s};
  Clock::TimePoint now_{};
};

TEST_F(DeparturesTest, EndDisplacedRanksAndKillThemAfterATime) {
  EXPECT_THAT(due({2}), ElementsAre(Signal{2, SIGTERM}));
  EXPECT_EQ(departures_.deadline(), now_ + 5s);
  EXPECT_THAT(due({}), IsEmpty());
  now_ += 5s;
  EXPECT_THAT(due({}), ElementsAre(Signal{2, SIGKILL}));
  EXPECT_THAT(due({}), IsEmpty());
  EXPECT_EQ(departures_.deadline(), Clock::TimePoint::max());
}

TEST_F(DeparturesTest, KillNoRankThatHasEnded) {
  EXPECT_THAT(due({2}), ElementsAre(Signal{2, SIGTERM}));
  end(2);
  now_ += 5s;
  EXPECT_THAT(due({}), IsEmpty());
}

TEST_F(DeparturesTest, KillARankThatSomebodyElseHasToldToLeave) {
  rank(1).is_leaving = true;
  EXPECT_THAT(due({}), IsEmpty());
  now_ += 5s;
  EXPECT_THAT(due({}), ElementsAre(Signal{1, SIGKILL}));
}

TEST_F(DeparturesTest, KeepOneMemberUntilANewcomerHasTheState) {
  job_.ranks.push_back({.is_newcomer = true});
  EXPECT_THAT(due({0, 1, 2}),
              ElementsAre(Signal{1, SIGTERM}, Signal{2, SIGTERM}));
  end(1);
  end(2);
  EXPECT_THAT(due({0}), IsEmpty());
  rank(3).was_connected = true;
  rank(3).connected_at = now_;
  EXPECT_THAT(due({0}), IsEmpty());
  EXPECT_EQ(departures_.deadline(), now_ + 5s);
  now_ += 5s;
  EXPECT_THAT(due({0}), ElementsAre(Signal{0, SIGTERM}));
}

TEST_F(DeparturesTest, WaitUntilTheJobHasBegunAndStopWhereItEnds) {
  rank(0).was_connected = false;
  EXPECT_THAT(due({2}), IsEmpty());
  rank(0).was_connected = true;
  job_.signal = SIGTERM;
  EXPECT_THAT(due({2}), IsEmpty());
  job_.signal = 0;
  rank(0).ended = Report{.kind = Report::Kind::kExited};
  EXPECT_THAT(due({2}), IsEmpty());
}

}  // namespace
}  // namespace hvd::launcher
