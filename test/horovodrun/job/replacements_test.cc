// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/replacements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

namespace hvd::launcher {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A job of two ranks, on hosts 'a' and 'b' unless a test says otherwise.
class ReplacementsTest : public testing::Test {
 protected:
  ReplacementsTest() { start({"a", "b"}); }

  void start(const std::vector<std::string>& hosts) {
    job_.ranks.clear();
    for (const std::string& host : hosts) {
      job_.ranks.push_back({.asked_host = host, .was_connected = true});
    }
  }
  // Without named hosts.
  void start_here() { start({"", ""}); }
  void newcomer(const std::string& host) {
    job_.ranks.push_back({.asked_host = host, .is_newcomer = true});
  }
  RankRecord& rank(std::size_t at) { return job_.ranks[at]; }
  void end(std::size_t at, Report::Kind kind, int value) {
    rank(at).ended = Report{.kind = kind, .value = value};
  }
  void kill(std::size_t at) { end(at, Report::Kind::kKilled, SIGKILL); }
  void lose_host(std::size_t at) { end(at, Report::Kind::kHostLost, 255); }

  JobRecord job_;
  const Clock::TimePoint now_{};
};

TEST_F(ReplacementsTest, FillTheJobAndItsSpares) {
  start_here();
  Replacements full({.least = 2, .most = 2}, {});
  EXPECT_THAT(full.due(job_, now_), IsEmpty());
  Replacements larger({.least = 2, .most = 4, .spares = 1}, {});
  EXPECT_THAT(larger.due(job_, now_), ElementsAre("", "", ""));
}

TEST_F(ReplacementsTest, WaitUntilTheJobHasBegun) {
  start_here();
  Replacements all({.least = 2, .most = 3}, {});
  rank(1).was_connected = false;
  EXPECT_THAT(all.due(job_, now_), IsEmpty());
  rank(1).was_connected = true;
  EXPECT_THAT(all.due(job_, now_), ElementsAre(""));
}

TEST_F(ReplacementsTest, ReplaceALostRankOnItsHost) {
  Replacements all({.least = 1, .most = 2}, {{"a", 3}, {"b", 1}});
  EXPECT_THAT(all.due(job_, now_), IsEmpty());
  kill(1);
  EXPECT_THAT(all.due(job_, now_), ElementsAre("b"));
  newcomer("b");
  EXPECT_THAT(all.due(job_, now_), IsEmpty());
}

TEST_F(ReplacementsTest, AvoidALostHostForAWhile) {
  Replacements narrow({.least = 1, .most = 2}, {{"a", 1}, {"b", 1}});
  Replacements wide({.least = 1, .most = 2}, {{"a", 2}, {"b", 1}});
  lose_host(1);
  EXPECT_THAT(narrow.due(job_, now_), IsEmpty());
  EXPECT_EQ(narrow.deadline(), now_ + 1s);
  EXPECT_THAT(narrow.due(job_, now_ + 1s), ElementsAre("b"));
  EXPECT_THAT(wide.due(job_, now_), ElementsAre("a"));
}

TEST_F(ReplacementsTest, UseAHostThatWasUnusedAtTheStart) {
  Replacements all({.least = 1, .most = 2}, {{"a", 1}, {"b", 1}, {"c", 1}});
  lose_host(1);
  EXPECT_THAT(all.due(job_, now_), ElementsAre("c"));
}

TEST_F(ReplacementsTest, FollowTheHosts) {
  Replacements all({.least = 1, .most = 4}, {{"a", 1}, {"b", 1}});
  EXPECT_THAT(all.due(job_, now_), IsEmpty());
  all.set_hosts({{"a", 2}, {"b", 1}, {"c", 1}});
  EXPECT_THAT(all.due(job_, now_), ElementsAre("a", "c"));
}

TEST_F(ReplacementsTest, ReplaceARankWhoseHostIsGone) {
  Replacements all({.least = 1, .most = 2}, {{"a", 1}, {"b", 1}});
  all.set_hosts({{"a", 1}, {"c", 1}});
  EXPECT_THAT(all.due(job_, now_), ElementsAre("c"));
}

TEST_F(ReplacementsTest, AvoidAHostAfterAnyFailureIfTheUserSaysSo) {
  const ElasticTerms terms = {
      .least = 1,
      .most = 2,
      .cooldown = {.shortest = 4s, .longest = 4s, .after_any_failure = true}};
  Replacements all(terms, {{"a", 1}, {"b", 1}});
  kill(1);
  EXPECT_THAT(all.due(job_, now_), IsEmpty());
  EXPECT_THAT(all.due(job_, now_ + 4s - 1ms), IsEmpty());
  EXPECT_THAT(all.due(job_, now_ + 4s), ElementsAre("b"));
}

TEST_F(ReplacementsTest, CountNoPlannedDepartureAsAFailure) {
  const ElasticTerms terms = {.least = 1,
                              .most = 2,
                              .most_losses = 0,
                              .cooldown = {.after_any_failure = true}};
  Replacements all(terms, {{"a", 1}, {"b", 1}});
  end(1, Report::Kind::kExited, 128 + SIGTERM);
  EXPECT_EQ(all.end(job_, now_), "");
  end(1, Report::Kind::kKilled, SIGTERM);
  EXPECT_EQ(all.end(job_, now_), "");
  EXPECT_THAT(all.due(job_, now_), ElementsAre("b"));
  newcomer("b");
  rank(2).was_connected = true;
  rank(2).is_leaving = true;
  EXPECT_THAT(all.due(job_, now_), ElementsAre("b"));
  end(2, Report::Kind::kExited, 3);
  EXPECT_EQ(all.end(job_, now_), "");
  EXPECT_THAT(all.due(job_, now_), ElementsAre("b"));
}

TEST_F(ReplacementsTest, ChooseTheHostWithTheMostFreeSlots) {
  Replacements all({.least = 1, .most = 5}, {{"a", 2}, {"b", 3}});
  EXPECT_THAT(all.due(job_, now_), ElementsAre("b", "a", "b"));
}

TEST_F(ReplacementsTest, BackOffAfterNewcomersThatFail) {
  start_here();
  Replacements all({.least = 1, .most = 2}, {});
  kill(1);
  ASSERT_THAT(all.due(job_, now_), ElementsAre(""));
  newcomer("");
  end(2, Report::Kind::kExited, 3);
  EXPECT_THAT(all.due(job_, now_), IsEmpty());
  EXPECT_EQ(all.deadline(), now_ + 1s);
  EXPECT_THAT(all.due(job_, now_ + 1s), ElementsAre(""));
  newcomer("");
  end(3, Report::Kind::kExited, 3);
  EXPECT_THAT(all.due(job_, now_ + 1s), IsEmpty());
  EXPECT_THAT(all.due(job_, now_ + 2s), IsEmpty());
  EXPECT_THAT(all.due(job_, now_ + 3s), ElementsAre(""));
  EXPECT_EQ(all.deadline(), Clock::TimePoint::max());
}

TEST_F(ReplacementsTest, BackOffFromOneHostAlone) {
  Replacements all({.least = 1, .most = 2}, {{"a", 2}, {"b", 1}});
  kill(1);
  newcomer("b");
  end(2, Report::Kind::kExited, 3);
  EXPECT_THAT(all.due(job_, now_), ElementsAre("a"));
}

TEST_F(ReplacementsTest, ForgetFailuresOnceANewcomerHasJoined) {
  start_here();
  Replacements all({.least = 1, .most = 2}, {});
  kill(1);
  newcomer("");
  end(2, Report::Kind::kExited, 3);
  EXPECT_THAT(all.due(job_, now_), IsEmpty());
  newcomer("");
  rank(3).was_connected = true;
  kill(3);
  EXPECT_THAT(all.due(job_, now_ + 1s), ElementsAre(""));
  newcomer("");
  end(4, Report::Kind::kExited, 3);
  EXPECT_THAT(all.due(job_, now_ + 1s), IsEmpty());
  EXPECT_EQ(all.deadline(), now_ + 2s);
}

TEST_F(ReplacementsTest, StopWhereTheJobEnds) {
  Replacements all({.least = 1, .most = 2}, {});
  kill(1);
  job_.signal = SIGTERM;
  EXPECT_THAT(all.due(job_, now_), IsEmpty());
  job_.signal = 0;
  end(0, Report::Kind::kExited, 0);
  EXPECT_THAT(all.due(job_, now_), IsEmpty());
  EXPECT_EQ(all.end(job_, now_), "");
}

TEST_F(ReplacementsTest, EndAJobThatHasLostTooManyRanks) {
  Replacements all({.least = 1, .most = 2, .most_losses = 1}, {});
  kill(1);
  EXPECT_EQ(all.end(job_, now_), "");
  newcomer("");
  rank(2).was_connected = true;
  kill(2);
  EXPECT_EQ(all.end(job_, now_), "it has lost 2 ranks, and --reset-limit is 1");
}

TEST_F(ReplacementsTest, EndAJobThatHasTooFewRanksForTooLong) {
  Replacements all({.least = 2, .most = 2, .timeout = 5s}, {});
  EXPECT_EQ(all.end(job_, now_), "");
  kill(1);
  EXPECT_EQ(all.end(job_, now_), "");
  EXPECT_EQ(all.deadline(), now_ + 5s);
  newcomer("");
  EXPECT_EQ(all.end(job_, now_ + 4s), "");
  EXPECT_THAT(all.end(job_, now_ + 5s),
              HasSubstr("fewer than 2 ranks (--min-np) for 5 s"));
  rank(2).was_connected = true;
  EXPECT_EQ(all.end(job_, now_ + 6s), "");
  EXPECT_EQ(all.deadline(), Clock::TimePoint::max());
}

}  // namespace
}  // namespace hvd::launcher
