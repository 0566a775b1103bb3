// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/job/job_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hvd::launcher {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Action = JobWatch::Action;
using Kind = Report::Kind;

constexpr int kKilledStatus = SIGKILL;  // As from waitpid.
constexpr int status_of(int code) { return code << 8; }

class JobWatchTest : public testing::Test {
 protected:
  static constexpr Clock::TimePoint kStart{};

  JobWatchTest() : watch_({.ranks = 3, .start_timeout = 30s}, kStart) {}

  void report(Kind kind, int rank, int value = 0, std::int64_t time = 0) {
    watch_.report_arrived(
        {kind, rank, 100 + rank, value, time, rank < 2 ? "a" : "b"}, now_);
  }

  RankNews news_of(RankNews::Kind kind, int rank) {
    return {.kind = kind, .host = rank < 2 ? "a" : "b", .pid = 100 + rank};
  }

  void tell(int rank, const RankNews& news) {
    watch_.report_arrived({.kind = Kind::kNews, .rank = rank, .news = news},
                          now_);
  }

  void tell(int rank, RankNews::Kind kind) { tell(rank, news_of(kind, rank)); }

  // `rank` reports that the job broke because of `culprit`. Negative: no
  // culprit.
  void tell_broken(int rank, int culprit) {
    RankNews news = news_of(RankNews::Kind::kBroken, rank);
    news.reason = "it broke";
    if (culprit >= 0) {
      news.culprits = {{.rank = culprit,
                        .host = culprit < 2 ? "a" : "b",
                        .pid = 100 + culprit}};
    }
    tell(rank, news);
  }

  void tell_reforming(int rank, std::chrono::milliseconds patience = 30s) {
    RankNews news = news_of(RankNews::Kind::kReforming, rank);
    news.patience = patience;
    tell(rank, news);
  }

  void tell_reformed(int rank, std::vector<int> lost = {}) {
    RankNews news = news_of(RankNews::Kind::kReformed, rank);
    news.lost = std::move(lost);
    tell(rank, news);
  }

  void connect_all() {
    start_all();
    for (int rank = 0; rank < 3; ++rank) {
      tell(rank, RankNews::Kind::kJoining);
      tell(rank, RankNews::Kind::kConnected);
    }
  }

  void start_all() {
    for (int rank = 0; rank < 3; ++rank) report(Kind::kStarted, rank);
  }

  void exit_all() {
    for (int rank = 0; rank < 3; ++rank) report(Kind::kExited, rank);
  }

  Action after(Clock::Duration time) {
    now_ += time;
    return watch_.next_action(now_);
  }

  Verdict verdict_after_mpirun(int status) {
    watch_.mpirun_ended(status);
    return watch_.verdict("./train");
  }

  JobWatch watch_;
  Clock::TimePoint now_ = kStart;
};

TEST_F(JobWatchTest, SaysNothingOfSuccess) {
  start_all();
  EXPECT_EQ(after(1000h), Action::kWait);
  exit_all();
  const Verdict verdict = verdict_after_mpirun(status_of(0));
  EXPECT_EQ(verdict.exit_code, 0);
  EXPECT_EQ(verdict.line, "");
}

TEST_F(JobWatchTest, GivesSurvivorsAGracePeriodThenTerminatesThenKills) {
  start_all();
  after(1h);
  report(Kind::kKilled, 1, SIGKILL);
  EXPECT_EQ(after(JobWatch::kGrace - 1ms), Action::kWait);
  EXPECT_EQ(after(1ms), Action::kTerminate);
  EXPECT_EQ(after(JobWatch::kTermination - 1ms), Action::kWait);
  EXPECT_EQ(after(1ms), Action::kKill);
  EXPECT_EQ(after(1h), Action::kWait);
  EXPECT_LT(JobWatch::kGrace + JobWatch::kTermination, 10s);
}

TEST_F(JobWatchTest, DoesNotExtendTheGracePeriodForFurtherFailures) {
  start_all();
  report(Kind::kExited, 1, 3);
  after(JobWatch::kGrace - 1ms);
  report(Kind::kExited, 0, 4);
  EXPECT_EQ(after(1ms), Action::kTerminate);
}

// Rank 1 hangs, whether or not its library reports the broken job.
TEST_F(JobWatchTest, GivesNoLongGraceToTheBlamedWhenAllOthersHaveEnded) {
  for (const bool tells : {false, true}) {
    watch_ = JobWatch({.ranks = 3, .start_timeout = 30s}, kStart);
    connect_all();
    for (const int rank : {0, 2}) tell_broken(rank, 1);
    if (tells) tell_broken(1, 1);
    report(Kind::kExited, 0, 5);
    EXPECT_EQ(after(JobWatch::kGraceOfTheBlamed), Action::kWait);
    report(Kind::kExited, 2, 5);
    EXPECT_EQ(after(JobWatch::kGraceOfTheBlamed - 1ms), Action::kWait);
    EXPECT_EQ(after(1ms), Action::kTerminate);
  }
}

TEST_F(JobWatchTest, GivesTheBlamedItsTimeIfItBlamesAnother) {
  connect_all();
  for (const int rank : {0, 2}) {
    tell_broken(rank, 1);
    report(Kind::kExited, rank, 5);
  }
  tell_broken(1, 0);
  EXPECT_EQ(after(JobWatch::kGrace - 1ms), Action::kWait);
  EXPECT_EQ(after(1ms), Action::kTerminate);
}

TEST_F(JobWatchTest, TellsTheFirstFailureByItsTimeAndNotByItsArrival) {
  start_all();
  report(Kind::kExited, 2, 4, /*time=*/2000);
  report(Kind::kKilled, 1, SIGKILL, /*time=*/1000);
  report(Kind::kExited, 0, 5, /*time=*/3000);
  const Verdict verdict = verdict_after_mpirun(status_of(0));
  EXPECT_EQ(verdict.exit_code, 128 + SIGKILL);
  EXPECT_EQ(verdict.line,
            "horovodrun: rank 1 on host 'a' (pid 101) was killed by signal 9 "
            "(Killed)");
}

TEST_F(JobWatchTest, TellsAnExitCode) {
  start_all();
  report(Kind::kExited, 2, 3);
  const Verdict verdict = verdict_after_mpirun(kKilledStatus);
  EXPECT_EQ(verdict.exit_code, 3);
  EXPECT_EQ(verdict.line,
            "horovodrun: rank 2 on host 'b' (pid 102) exited with code 3");
}

TEST_F(JobWatchTest, TellsThatACommandCannotRun) {
  start_all();
  report(Kind::kNotExecuted, 0, ENOENT);
  Verdict verdict = verdict_after_mpirun(status_of(0));
  EXPECT_EQ(verdict.exit_code, 127);
  EXPECT_EQ(verdict.line,
            "horovodrun: rank 0 on host 'a' cannot execute './train': No such "
            "file or directory");
  report(Kind::kNotExecuted, 1, EACCES, /*time=*/-1);
  EXPECT_EQ(watch_.verdict("./train").exit_code, 126);
}

TEST_F(JobWatchTest, NamesTheRanksThatDidNotStartInTime) {
  report(Kind::kStarted, 0);
  EXPECT_EQ(after(30s), Action::kTerminate);
  const Verdict verdict = verdict_after_mpirun(kKilledStatus);
  EXPECT_EQ(verdict.exit_code, 1);
  EXPECT_THAT(verdict.line, HasSubstr("ranks 1, 2 did not start within 30 s"));
}

TEST_F(JobWatchTest, TellsThatMpirunEndedTooEarly) {
  Verdict verdict = verdict_after_mpirun(status_of(213));
  EXPECT_EQ(verdict.exit_code, 213);
  EXPECT_EQ(verdict.line,
            "horovodrun: mpirun ended with code 213 before ranks 0, 1, 2 had "
            "started");
  start_all();
  report(Kind::kExited, 0);
  verdict = verdict_after_mpirun(status_of(0));
  EXPECT_EQ(verdict.exit_code, 1);
  EXPECT_EQ(
      verdict.line,
      "horovodrun: mpirun ended with code 0 before rank 1 on host 'a' had "
      "told how it ended");
  verdict = verdict_after_mpirun(kKilledStatus);
  EXPECT_EQ(verdict.exit_code, 128 + SIGKILL);
  EXPECT_THAT(verdict.line,
              HasSubstr("mpirun was killed by signal 9 (Killed)"));
}

TEST_F(JobWatchTest, EndsAnMpirunThatStaysAfterItsLastRank) {
  start_all();
  exit_all();
  EXPECT_EQ(after(JobWatch::kFarewell), Action::kTerminate);
  EXPECT_EQ(after(JobWatch::kTermination), Action::kKill);
  EXPECT_EQ(verdict_after_mpirun(kKilledStatus).exit_code, 0);
}

TEST_F(JobWatchTest, GivesAnMpirunNoMoreTimeForItsAgents) {
  start_all();
  exit_all();
  EXPECT_EQ(after(JobWatch::kFarewell - 1ms), Action::kWait);
  watch_.agent_ended(0, now_);
  EXPECT_EQ(after(1ms), Action::kTerminate);
}

TEST_F(JobWatchTest, EndsAnMpirunThatStaysAfterTheRanksItWasToEnd) {
  report(Kind::kKilled, 1, SIGKILL);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
  report(Kind::kExited, 0, 5);
  report(Kind::kExited, 2, 5);
  EXPECT_EQ(after(JobWatch::kLastTermination - 1ms), Action::kWait);
  EXPECT_EQ(after(1ms), Action::kKill);
}

TEST_F(JobWatchTest, EndsAnMpirunWhoseAgentsHaveEnded) {
  start_all();
  report(Kind::kExited, 0, 5);
  report(Kind::kExited, 2, 5);
  EXPECT_FALSE(watch_.is_ending());
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
  EXPECT_TRUE(watch_.is_ending());
  watch_.agent_ended(1, now_);
  EXPECT_TRUE(watch_.running().empty());
  EXPECT_EQ(after(JobWatch::kLastTermination), Action::kKill);
}

// Rank 2 runs on the other host.
TEST_F(JobWatchTest, DoesNotWaitForRanksOfAHostThatIsCutOff) {
  start_all();
  for (const int rank : {0, 1}) {
    RankNews news = news_of(RankNews::Kind::kBroken, rank);
    news.set_reason(std::string("rank 2 (host 'b', pid 102) ") + kNodeIsSilent);
    tell(rank, news);
  }
  report(Kind::kExited, 0, 5);
  EXPECT_EQ(after(JobWatch::kFarewell), Action::kWait);
  report(Kind::kExited, 1, 5);
  EXPECT_EQ(after(JobWatch::kFarewell), Action::kTerminate);
  EXPECT_EQ(after(JobWatch::kLastTermination), Action::kKill);
}

TEST_F(JobWatchTest, BlamesTheUsersSignalAndNotTheRanksThatFollowIt) {
  start_all();
  watch_.signal_arrived(SIGINT, now_);
  report(Kind::kExited, 0, 1);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
  const Verdict verdict = verdict_after_mpirun(status_of(1));
  EXPECT_EQ(verdict.exit_code, 128 + SIGINT);
  EXPECT_EQ(verdict.line, "horovodrun: stopped by signal 2 (Interrupt)");
}

TEST_F(JobWatchTest, IsContentWithRanksThatSucceedAfterASignal) {
  start_all();
  watch_.signal_arrived(SIGTERM, now_);
  exit_all();
  EXPECT_EQ(verdict_after_mpirun(status_of(0)).exit_code, 0);
}

TEST_F(JobWatchTest, EndsTheGracePeriodAtASecondSignal) {
  start_all();
  watch_.signal_arrived(SIGINT, now_);
  EXPECT_EQ(after(1ms), Action::kWait);
  watch_.signal_arrived(SIGINT, now_);
  EXPECT_EQ(after(0ms), Action::kTerminate);
}

TEST_F(JobWatchTest, BlamesAFailureThatCameBeforeTheSignal) {
  start_all();
  report(Kind::kExited, 0, 3);
  watch_.signal_arrived(SIGINT, now_);
  EXPECT_EQ(after(0ms), Action::kTerminate);
  EXPECT_EQ(verdict_after_mpirun(status_of(0)).exit_code, 3);
}

TEST_F(JobWatchTest, GivesNoGracePeriodBeforeARankHasStarted) {
  watch_.signal_arrived(SIGINT, now_);
  EXPECT_EQ(after(0ms), Action::kTerminate);
  EXPECT_EQ(verdict_after_mpirun(kKilledStatus).exit_code, 128 + SIGINT);
}

TEST_F(JobWatchTest, GivesAShortGracePeriodWhileRanksAreStarting) {
  report(Kind::kStarted, 0);
  watch_.signal_arrived(SIGINT, now_);
  EXPECT_EQ(after(0ms), Action::kWait);
  EXPECT_EQ(after(JobWatch::kTermination), Action::kTerminate);
  EXPECT_EQ(verdict_after_mpirun(kKilledStatus).exit_code, 128 + SIGINT);
}

TEST_F(JobWatchTest, KnowsWhoIsRunning) {
  EXPECT_TRUE(watch_.running().empty());
  start_all();
  report(Kind::kExited, 1);
  ASSERT_EQ(watch_.running().size(), 2u);
  EXPECT_EQ(watch_.running()[1].pid, 102);
}

TEST_F(JobWatchTest, NamesWhatSigkillDoesNotEnd) {
  start_all();
  report(Kind::kExited, 0, 3);
  const Report process = {.kind = Kind::kLeftBehind,
                          .rank = 1,
                          .pid = 4711,
                          .host = "a",
                          .text = "thread 4711 is in state D"};
  watch_.report_arrived(process, now_);
  Report again = process;
  again.rank = -1;
  watch_.left_behind(again);
  const Verdict verdict = verdict_after_mpirun(kKilledStatus);
  EXPECT_EQ(verdict.exit_code, 3);
  EXPECT_EQ(verdict.line,
            "horovodrun: rank 0 on host 'a' (pid 100) exited with code 3; "
            "process 4711 of rank 1 on host 'a' is left behind: SIGKILL does "
            "not end it, and its thread 4711 is in state D");
}

TEST_F(JobWatchTest, IgnoresReportsOfRanksThatDoNotExist) {
  report(Kind::kExited, 3, 1);
  start_all();
  exit_all();
  EXPECT_EQ(verdict_after_mpirun(status_of(0)).exit_code, 0);
}

// Calls `check` for every interleaving of three ranks' reports. Each rank's
// reports stay in order.
void for_every_order(
    const std::vector<std::vector<std::function<void(JobWatch&)>>>& words,
    const std::function<JobWatch()>& make,
    const std::function<void(JobWatch&)>& check) {
  std::vector<size_t> order;
  for (size_t rank = 0; rank < words.size(); ++rank) {
    order.insert(order.end(), words[rank].size(), rank);
  }
  do {
    JobWatch watch = make();
    std::vector<size_t> next(words.size());
    for (const size_t rank : order) words[rank][next[rank]++](watch);
    check(watch);
  } while (std::next_permutation(order.begin(), order.end()));
}

class EveryOrder : public testing::Test {
 protected:
  using Word = std::function<void(JobWatch&)>;
  static constexpr Clock::TimePoint kNow{};

  static Word report(Kind kind, int rank, int value, std::int64_t time) {
    return [=](JobWatch& watch) {
      watch.report_arrived({kind, rank, 100 + rank, value, time, "a"}, kNow);
    };
  }
  static Word news(int rank, RankNews::Kind kind,
                   const std::string& reason = "",
                   const std::vector<int>& lost = {}) {
    RankNews news = {.kind = kind,
                     .host = "a",
                     .pid = 100 + rank,
                     .patience = 30s,
                     .lost = lost};
    news.set_reason(reason);
    return [=](JobWatch& watch) {
      watch.report_arrived({.kind = Kind::kNews, .rank = rank, .news = news},
                           kNow);
    };
  }
  static JobWatch started() {
    JobWatch watch({.ranks = 3, .start_timeout = 30s}, kNow);
    for (int rank = 0; rank < 3; ++rank) {
      watch.report_arrived({Kind::kStarted, rank, 10 + rank, 0, 0, "a"}, kNow);
      news(rank, RankNews::Kind::kConnected)(watch);
    }
    return watch;
  }
};

TEST_F(EveryOrder, BlamesTheCauseEvenIfItIsSeenToEndLast) {
  const std::string why = "rank 1 (host 'a', pid 101) ended without leaving";
  const auto broken = [&](int rank) {
    return news(rank, RankNews::Kind::kBroken, why);
  };
  int orders = 0;
  for_every_order({{broken(0), report(Kind::kExited, 0, 5, 1000)},
                   {report(Kind::kKilled, 1, SIGKILL, 9000)},
                   {broken(2), report(Kind::kKilled, 2, SIGABRT, 2000)}},
                  started, [&](JobWatch& watch) {
                    watch.mpirun_ended(status_of(0));
                    const Verdict verdict = watch.verdict("./train");
                    EXPECT_EQ(verdict.exit_code, 128 + SIGKILL);
                    EXPECT_THAT(verdict.line,
                                HasSubstr("rank 1 on host 'a' (pid 101) was"));
                    ++orders;
                  });
  EXPECT_EQ(orders, 30);
}

TEST_F(EveryOrder, BlamesARankThatExitsAndSaysSo) {
  const std::string why = "rank 1 (host 'a', pid 101) exited with code 3";
  const auto broken = [&](int rank) {
    return news(rank, RankNews::Kind::kBroken, why);
  };
  for_every_order({{broken(0), report(Kind::kExited, 0, 5, 1000)},
                   {broken(1), report(Kind::kExited, 1, 3, 9000)},
                   {broken(2), report(Kind::kExited, 2, 5, 2000)}},
                  started, [&](JobWatch& watch) {
                    watch.mpirun_ended(status_of(0));
                    EXPECT_EQ(watch.verdict("./train").exit_code, 3);
                  });
}

// Rank 1 left early, which ended ranks 0 and 2. A rank that did not hear of
// rank 1 may blame the other one's end.
TEST_F(EveryOrder, BlamesWhoLeftEarlyAndNotThoseWhomThatHindered) {
  const std::string why =
      "rank 1 (host 'a', pid 101) shut down before every rank had submitted "
      "'x'";
  const auto hindered = [&](int rank) {
    return news(rank, RankNews::Kind::kHindered, why);
  };
  const auto broken = [&](int rank) {
    return news(rank, RankNews::Kind::kBroken, why);
  };
  for_every_order(
      {{hindered(0), report(Kind::kExited, 0, 5, 1000)},
       {broken(1), report(Kind::kExited, 1, 0, 9000)},
       {hindered(2),
        news(2, RankNews::Kind::kBroken,
             "rank 0 (host 'a', pid 100) ended without leaving"),
        report(Kind::kExited, 2, 6, 2000)}},
      started, [&](JobWatch& watch) {
        watch.mpirun_ended(status_of(0));
        const Verdict verdict = watch.verdict("./train");
        EXPECT_EQ(verdict.exit_code, 5);
        EXPECT_EQ(verdict.line,
                  "horovodrun: rank 1 on host 'a' (pid 101) exited with code 0 "
                  "while others still needed it");
      });
}

// Rank 1 itself may see only the end of another rank while it leaves.
TEST_F(EveryOrder, BlamesWhoLeftEarlyThoughItBlamesAnotherItself) {
  const std::string why =
      "rank 1 (host 'a', pid 101) shut down before every rank had submitted "
      "'x'";
  for_every_order({{news(0, RankNews::Kind::kHindered, why),
                    report(Kind::kExited, 0, 5, 1000)},
                   {news(1, RankNews::Kind::kBroken,
                         "rank 0 (host 'a', pid 100) ended without leaving"),
                    report(Kind::kExited, 1, 0, 9000)},
                   {report(Kind::kExited, 2, 0, 9000)}},
                  started, [&](JobWatch& watch) {
                    watch.mpirun_ended(status_of(0));
                    const Verdict verdict = watch.verdict("./train");
                    EXPECT_EQ(verdict.exit_code, 5);
                    EXPECT_THAT(verdict.line, HasSubstr("rank 1 on host 'a'"));
                  });
}

// A rank that a peer hindered, but that goes on, has not failed.
TEST_F(JobWatchTest, LeavesThoseAloneWhomAnotherHasHinderedAndWhoGoOn) {
  connect_all();
  RankNews news = news_of(RankNews::Kind::kHindered, 0);
  news.culprits = {{.rank = 1, .host = "a", .pid = 101}};
  tell(0, news);
  report(Kind::kExited, 1, 0);
  EXPECT_EQ(after(1000h), Action::kWait);
  report(Kind::kExited, 0, 0);
  report(Kind::kExited, 2, 0);
  EXPECT_EQ(verdict_after_mpirun(status_of(0)).exit_code, 0);
}

TEST_F(EveryOrder, IsContentWithAJobThatWentOn) {
  using enum RankNews::Kind;
  const std::string why = "rank 1 (host 'a', pid 101) ended without leaving";
  for_every_order(
      {{news(0, kBroken, why), news(0, kReforming), news(0, kReformed, "", {1}),
        report(Kind::kExited, 0, 0, 9000)},
       {report(Kind::kKilled, 1, SIGKILL, 1000)},
       {news(2, kBroken, why), news(2, kReforming), news(2, kReformed),
        report(Kind::kExited, 2, 0, 9000)}},
      started, [&](JobWatch& watch) {
        watch.mpirun_ended(status_of(0));
        const Verdict verdict = watch.verdict("./train");
        EXPECT_EQ(verdict.exit_code, 0);
        EXPECT_EQ(verdict.line,
                  "horovodrun: the job went on, and ended well, without rank 1 "
                  "on host 'a' (pid 101), which was killed by signal 9 "
                  "(Killed)");
      });
}

TEST_F(EveryOrder, LeavesThoseAloneWhoHaveReformed) {
  using enum RankNews::Kind;
  const std::string why = "rank 1 (host 'a', pid 101) ended without leaving";
  for_every_order(
      {{news(0, kBroken, why), news(0, kReforming),
        news(0, kReformed, "", {1})},
       {report(Kind::kKilled, 1, SIGKILL, 1000)},
       {news(2, kBroken, why), news(2, kReforming), news(2, kReformed)}},
      started, [&](JobWatch& watch) {
        EXPECT_EQ(watch.deadline(), Clock::TimePoint::max());
        EXPECT_EQ(watch.next_action(kNow + 1000h), Action::kWait);
      });
}

TEST_F(JobWatchTest, LeavesSurvivorsTheTimeTheyNeedToReform) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  tell_broken(0, 1);
  EXPECT_EQ(after(JobWatch::kGrace - 1ms), Action::kWait);
  tell_reforming(0, 30s);
  EXPECT_EQ(after(30s), Action::kWait);
  tell_reformed(0, {1});
  EXPECT_EQ(after(1000h), Action::kWait);
}

TEST_F(JobWatchTest, DoesNotBelieveForEverThatSomebodyReforms) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  tell_reforming(0, 30s);
  tell_reforming(2, 20s);
  EXPECT_EQ(after(30s + JobWatch::kGrace - 1ms), Action::kWait);
  EXPECT_EQ(after(1ms), Action::kWait);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
}

TEST_F(JobWatchTest, EndsARankThatIsLeftBehindOnceTheOthersHaveEnded) {
  connect_all();
  tell_broken(0, 1);
  tell_broken(2, 1);
  tell_reforming(0);
  tell_reforming(2);
  tell_reformed(0, {1});
  tell_reformed(2);
  EXPECT_EQ(after(1h), Action::kWait);
  report(Kind::kExited, 0);
  report(Kind::kExited, 2);
  EXPECT_EQ(after(JobWatch::kGrace - 1ms), Action::kWait);
  EXPECT_EQ(after(1ms), Action::kTerminate);
  report(Kind::kStopping, 1);
  report(Kind::kKilled, 1, SIGTERM);
  const Verdict verdict = verdict_after_mpirun(kKilledStatus);
  EXPECT_EQ(verdict.exit_code, 0);
  EXPECT_THAT(verdict.line, HasSubstr("rank 1 on host 'a' (pid 101), which was "
                                      "silent"));
}

TEST_F(JobWatchTest, GivesThoseWhoGoOnAGracePeriodOfTheirOwnAtTheNextLoss) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  tell_reforming(0);
  tell_reforming(2);
  tell_reformed(0, {1});
  tell_reformed(2);
  after(1h);
  report(Kind::kExited, 2, 3, /*time=*/5000);
  EXPECT_EQ(after(JobWatch::kGrace - 1ms), Action::kWait);
  EXPECT_EQ(after(1ms), Action::kTerminate);
  EXPECT_EQ(verdict_after_mpirun(status_of(0)).exit_code, 3);
}

TEST_F(JobWatchTest, EndsSurvivorsThatGaveUpReforming) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  tell_reforming(0);
  after(10s);
  tell_broken(0, 2);
  EXPECT_EQ(after(JobWatch::kGrace - 1ms), Action::kWait);
  EXPECT_EQ(after(1ms), Action::kTerminate);
}

TEST_F(JobWatchTest, GivesABrokenJobOfTheLivingTimeToSaveWhatItHas) {
  connect_all();
  tell_broken(0, -1);
  tell_broken(2, -1);
  EXPECT_EQ(after(JobWatch::kGraceOfTheLiving - 1ms), Action::kWait);
  EXPECT_EQ(after(1ms), Action::kTerminate);
}

TEST_F(JobWatchTest, EndsAJobThatCannotBegin) {
  for (const int code : {0, 1}) {
    SCOPED_TRACE(code);
    watch_ = JobWatch({.ranks = 3, .start_timeout = 30s}, now_);
    start_all();
    tell(0, RankNews::Kind::kJoining);
    EXPECT_EQ(after(1h), Action::kWait);
    report(Kind::kExited, 1, code);
    EXPECT_EQ(after(0ms), Action::kTerminate);
    report(Kind::kStopping, 0);
    report(Kind::kKilled, 0, SIGTERM, /*time=*/-1);
    const Verdict verdict = verdict_after_mpirun(kKilledStatus);
    EXPECT_EQ(verdict.exit_code, 1);
    EXPECT_THAT(verdict.line, HasSubstr("rank 1 on host 'a' (pid 101) exited"));
  }
}

TEST_F(JobWatchTest, LeavesALossDuringTheBeginningToThoseWhoSeeIt) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  EXPECT_EQ(after(0ms), Action::kWait);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
}

TEST_F(JobWatchTest, EndsWhoWaitsInVainWhereOthersHaveEntered) {
  start_all();
  tell(0, RankNews::Kind::kJoining);
  tell(0, RankNews::Kind::kConnected);
  tell(2, RankNews::Kind::kJoining);
  report(Kind::kKilled, 1, SIGKILL);
  EXPECT_EQ(after(JobWatch::kBeginning - 1ms), Action::kWait);
  EXPECT_EQ(watch_.deadline(), now_ + 1ms);
  EXPECT_EQ(after(1ms), Action::kTerminate);
  // mpirun itself may sleep for a second.
  EXPECT_EQ(after(JobWatch::kLastTermination), Action::kKill);
  const Verdict verdict = verdict_after_mpirun(kKilledStatus);
  EXPECT_EQ(verdict.exit_code, 128 + SIGKILL);
  EXPECT_THAT(verdict.line,
              HasSubstr("rank 1 on host 'a' (pid 101) was killed"));
}

TEST_F(JobWatchTest, LeavesThoseAloneWhoEnterAfterALossDuringTheBeginning) {
  start_all();
  tell(0, RankNews::Kind::kJoining);
  tell(0, RankNews::Kind::kConnected);
  tell(2, RankNews::Kind::kJoining);
  report(Kind::kKilled, 1, SIGKILL);
  EXPECT_EQ(after(JobWatch::kBeginning - 1ms), Action::kWait);
  tell(2, RankNews::Kind::kConnected);
  EXPECT_EQ(after(1ms), Action::kWait);
}

TEST_F(JobWatchTest, NamesSurvivorsThatHadToBeEndedBesideTheCause) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  tell_broken(0, 1);
  report(Kind::kExited, 0, 5);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
  report(Kind::kStopping, 2);
  report(Kind::kKilled, 2, SIGTERM);
  const Verdict verdict = verdict_after_mpirun(status_of(1));
  EXPECT_EQ(verdict.exit_code, 128 + SIGKILL);
  EXPECT_EQ(
      verdict.line,
      "horovodrun: rank 1 on host 'a' (pid 101) was killed by signal 9 "
      "(Killed); rank 2 on host 'b' (pid 102) did not notice and had to be "
      "ended");
}

TEST_F(JobWatchTest, DoesNotBlameWhomMpirunEnded) {
  connect_all();
  report(Kind::kStopping, 0);
  report(Kind::kKilled, 0, SIGTERM, /*time=*/1);
  report(Kind::kExited, 1, 3, /*time=*/2);
  EXPECT_EQ(verdict_after_mpirun(status_of(1)).exit_code, 3);
}

TEST_F(JobWatchTest, BlamesMpirunIfItWasKilled) {
  connect_all();
  for (int rank = 0; rank < 3; ++rank) {
    report(Kind::kStopping, rank);
    report(Kind::kKilled, rank, SIGKILL);
  }
  const Verdict verdict = verdict_after_mpirun(kKilledStatus);
  EXPECT_EQ(verdict.exit_code, 128 + SIGKILL);
  EXPECT_THAT(verdict.line, HasSubstr("mpirun was killed by signal 9"));
}

TEST_F(JobWatchTest, BlamesMpirunIfItEndsTheRanksUnasked) {
  connect_all();
  for (int rank = 0; rank < 3; ++rank) {
    tell_broken(rank, (rank + 1) % 3);
    report(Kind::kStopping, rank);
    report(Kind::kKilled, rank, SIGTERM);
  }
  const Verdict verdict = verdict_after_mpirun(status_of(143));
  EXPECT_EQ(verdict.exit_code, 143);
  EXPECT_THAT(verdict.line, HasSubstr("mpirun ended with code 143"));
}

TEST_F(JobWatchTest, BlamesWhoLeftWithoutAWordThoughItsCodeIsZero) {
  connect_all();
  report(Kind::kExited, 1, 0);
  tell_broken(0, 1);
  report(Kind::kExited, 0, 5);
  tell_broken(2, 1);
  report(Kind::kExited, 2, 6);
  const Verdict verdict = verdict_after_mpirun(status_of(0));
  EXPECT_EQ(verdict.exit_code, 5);
  EXPECT_EQ(verdict.line,
            "horovodrun: rank 1 on host 'a' (pid 101) exited with code 0 while "
            "others still needed it");
}

TEST_F(JobWatchTest, BlamesWhoKeptTheOthersWaitingUntilItWasEnded) {
  connect_all();
  tell_broken(0, 2);
  tell_broken(1, 2);
  report(Kind::kExited, 0, 5);
  report(Kind::kExited, 1, 5);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
  report(Kind::kStopping, 2);
  report(Kind::kKilled, 2, SIGTERM);
  const Verdict verdict = verdict_after_mpirun(kKilledStatus);
  EXPECT_EQ(verdict.exit_code, 5);
  EXPECT_EQ(verdict.line,
            "horovodrun: rank 2 on host 'b' (pid 102) broke the job: it broke");
}

TEST_F(JobWatchTest, BlamesTheRankThatMostOthersBlame) {
  connect_all();
  tell_broken(0, 2);
  tell_broken(1, 2);
  tell_broken(2, 1);
  for (int rank = 0; rank < 3; ++rank) report(Kind::kExited, rank, 5);
  EXPECT_EQ(verdict_after_mpirun(status_of(0)).line,
            "horovodrun: rank 2 on host 'b' (pid 102) exited with code 5 while "
            "others still needed it");
}

TEST_F(JobWatchTest, BelievesTheFirstErrorOfARank) {
  connect_all();
  tell_broken(0, 2);
  tell_broken(0, 1);
  report(Kind::kExited, 0, 5);
  report(Kind::kExited, 1, 0);
  report(Kind::kExited, 2, 0);
  EXPECT_THAT(verdict_after_mpirun(status_of(0)).line,
              HasSubstr("rank 2 on host 'b' (pid 102) exited with code 0"));
}

TEST_F(JobWatchTest, KnowsRanksByTheirProcessOnceTheyHaveNewNumbers) {
  connect_all();
  tell_reformed(2, {0});  // Rank 2 is rank 1 now, and rank 1 is rank 0.
  tell_reformed(1);
  RankNews news = news_of(RankNews::Kind::kBroken, 2);
  news.culprits = {{.rank = 0, .host = "a", .pid = 101}};
  tell(2, news);
  report(Kind::kExited, 2, 5, /*time=*/1);
  report(Kind::kExited, 1, 3, /*time=*/2);
  EXPECT_EQ(verdict_after_mpirun(status_of(0)).exit_code, 3);
}

TEST_F(JobWatchTest, NamesAHostThatIsLostWithItsRanks) {
  watch_ = JobWatch(
      {.ranks = 3, .start_timeout = 30s, .hosts = {{"x", 1}, {"y", 2}}}, now_);
  connect_all();
  watch_.report_arrived({.kind = Kind::kHostLost, .value = 255, .host = "y"},
                        now_);
  tell_broken(0, 1);
  EXPECT_EQ(after(JobWatch::kGrace - 1ms), Action::kWait);
  report(Kind::kExited, 0, 5);
  EXPECT_EQ(after(JobWatch::kFarewell), Action::kTerminate);
  const Verdict verdict = verdict_after_mpirun(status_of(1));
  EXPECT_EQ(verdict.exit_code, 1);
  EXPECT_EQ(verdict.line,
            "horovodrun: host 'y' was lost, and with it ranks 1, 2; what "
            "connected to it ended with code 255");
}

TEST_F(JobWatchTest, NamesASurvivorThatDidNotNoticeTheLossOfAHost) {
  watch_ = JobWatch(
      {.ranks = 3, .start_timeout = 30s, .hosts = {{"x", 1}, {"y", 2}}}, now_);
  connect_all();
  watch_.report_arrived({.kind = Kind::kHostLost, .value = 255, .host = "y"},
                        now_);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
  EXPECT_THAT(verdict_after_mpirun(status_of(1)).line,
              HasSubstr("ended with code 255; rank 0 on host 'a' (pid 100) did "
                        "not notice and had to be ended"));
}

TEST_F(JobWatchTest, EndsAtOnceIfAHostCannotBeReached) {
  watch_ = JobWatch(
      {.ranks = 3, .start_timeout = 30s, .hosts = {{"x", 1}, {"y", 2}}}, now_);
  watch_.report_arrived({.kind = Kind::kHostLost, .value = 255, .host = "y"},
                        now_);
  EXPECT_EQ(after(0ms), Action::kTerminate);
  EXPECT_THAT(verdict_after_mpirun(status_of(1)).line,
              HasSubstr("host 'y' cannot be reached for ranks 1, 2"));
}

TEST_F(JobWatchTest, EndsAtOnceIfASignalEndsTheSshOfAHostWithoutRanks) {
  watch_ = JobWatch(
      {.ranks = 3, .start_timeout = 30s, .hosts = {{"x", 1}, {"y", 2}}}, now_);
  watch_.report_arrived(
      {.kind = Kind::kHostLost, .value = -SIGKILL, .host = "y"}, now_);
  EXPECT_EQ(after(0ms), Action::kTerminate);
  EXPECT_THAT(verdict_after_mpirun(status_of(1)).line,
              HasSubstr("host 'y' cannot be reached for ranks 1, 2: the ssh "
                        "connection to it ended by signal 9 (Killed)"));
}

TEST_F(JobWatchTest, GoesOnIfASignalEndsTheSshOfAHostWhoseRanksHaveStarted) {
  watch_ = JobWatch(
      {.ranks = 3, .start_timeout = 30s, .hosts = {{"x", 1}, {"y", 2}}}, now_);
  connect_all();
  watch_.report_arrived(
      {.kind = Kind::kHostLost, .value = -SIGKILL, .host = "y"}, now_);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kWait);
}

}  // namespace
}  // namespace hvd::launcher
