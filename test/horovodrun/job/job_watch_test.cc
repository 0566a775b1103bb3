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
#include <tuple>
#include <utility>
#include <vector>

namespace hvd::launcher {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Action = JobWatch::Action;
using Kind = Report::Kind;
using News = RankStatus::Kind;

constexpr int kKilledStatus = SIGKILL;  // As from waitpid.
constexpr int status_of(int code) { return code << 8; }

// Three ranks: 0 and 1 on host 'a', 2 on host 'b', with the pids 100 to 102.
class JobWatchTest : public testing::Test {
 protected:
  static constexpr Clock::TimePoint kStart{};

  JobWatchTest() : watch_({.ranks = 3, .start_timeout = 30s}, kStart) {}

  void restart(std::vector<Host> hosts = {}) {
    watch_ = JobWatch(
        {.ranks = 3, .start_timeout = 30s, .hosts = std::move(hosts)}, now_);
  }
  void restart_elastic(std::vector<Host> hosts = {}) {
    watch_ = JobWatch({.ranks = 3,
                       .start_timeout = 30s,
                       .hosts = std::move(hosts),
                       .is_elastic = true},
                      now_);
  }
  // The user asks for host 'x' for rank 0, and 'y' for the others.
  void restart_on_two_hosts() { restart({{"x", 1}, {"y", 2}}); }

  void report(Kind kind, int rank, int value = 0, std::int64_t time = 0) {
    watch_.report_arrived(
        {kind, rank, 100 + rank, value, time, rank < 2 ? "a" : "b"}, now_);
  }
  void report_lost_host(int value) {
    watch_.report_arrived(
        {.kind = Kind::kHostLost, .value = value, .host = "y"}, now_);
  }
  // The starter ends the rank.
  void end_by_starter(int rank, int signal, std::int64_t time = 0) {
    report(Kind::kStopping, rank);
    report(Kind::kKilled, rank, signal, time);
  }

  RankStatus news_of(News kind, int rank) {
    return {.kind = kind, .host = rank < 2 ? "a" : "b", .pid = 100 + rank};
  }
  void send(int rank, const RankStatus& news) {
    watch_.report_arrived({.kind = Kind::kNews, .rank = rank, .news = news},
                          now_);
  }
  void send(int rank, News kind) { send(rank, news_of(kind, rank)); }
  // `rank` reports `kind`, such as kBroken, because of `culprit`. Negative: no
  // culprit.
  void blame(int rank, int culprit, News kind = News::kBroken) {
    RankStatus news = news_of(kind, rank);
    news.reason = "it broke";
    if (culprit >= 0) {
      news.culprits = {{.rank = culprit,
                        .host = culprit < 2 ? "a" : "b",
                        .pid = 100 + culprit}};
    }
    send(rank, news);
  }
  void send_reforming(int rank, std::chrono::milliseconds limit = 30s) {
    RankStatus news = news_of(News::kReforming, rank);
    news.timeout = limit;
    send(rank, news);
  }
  void send_reformed(int rank, std::vector<int> lost = {}) {
    RankStatus news = news_of(News::kReformed, rank);
    news.lost = std::move(lost);
    send(rank, news);
  }
  // Number 3, which joins the job.
  void join_newcomer() {
    ASSERT_EQ(watch_.add_newcomer("a"), 3);
    report(Kind::kStarted, 3);
    send(3, News::kConnected);
  }
  // Ranks 0 and 2 go on without rank 1.
  void reform_without_rank_1() {
    send_reforming(0);
    send_reforming(2);
    send_reformed(0, {1});
    send_reformed(2);
  }

  void start_all() {
    for (int rank = 0; rank < 3; ++rank) report(Kind::kStarted, rank);
  }
  void connect(int rank) {
    send(rank, News::kJoining);
    send(rank, News::kConnected);
  }
  void connect_all() {
    start_all();
    for (int rank = 0; rank < 3; ++rank) connect(rank);
  }
  void exit_all(int code = 0) {
    for (int rank = 0; rank < 3; ++rank) report(Kind::kExited, rank, code);
  }

  Action after(Clock::Duration time) {
    now_ += time;
    return watch_.next_action(now_);
  }
  // Expects the action after `time`, and none before.
  void expect_after(Clock::Duration time, Action action) {
    EXPECT_EQ(after(time - 1ms), Action::kWait);
    EXPECT_EQ(after(1ms), action);
  }

  Verdict verdict(int starter_status) {
    watch_.starter_ended(starter_status);
    return watch_.verdict("./train");
  }
  // Without the prefix "horovodrun: ".
  void expect_verdict(int starter_status, int code, const std::string& line) {
    const Verdict given = verdict(starter_status);
    EXPECT_EQ(given.exit_code, code);
    EXPECT_EQ(given.line, line.empty() ? "" : "horovodrun: " + line);
  }

  JobWatch watch_;
  Clock::TimePoint now_ = kStart;
};

const std::string kRank1Killed =
    "rank 1 on host 'a' (pid 101) was killed by signal 9 (Killed)";

TEST_F(JobWatchTest, NamesTheRankOfTheLastLine) {
  connect_all();
  report(Kind::kKilled, 1, 9);
  report(Kind::kExited, 0, 0);
  report(Kind::kExited, 2, 0);
  EXPECT_EQ(verdict(status_of(0)).rank, 1);
}

TEST_F(JobWatchTest, NamesNoRankOfASuccess) {
  start_all();
  exit_all();
  EXPECT_EQ(verdict(status_of(0)).rank, -1);
}

TEST_F(JobWatchTest, ReportsNoErrorAboutASuccess) {
  start_all();
  EXPECT_EQ(after(1000h), Action::kWait);
  exit_all();
  expect_verdict(status_of(0), 0, "");
}

// Limits.

TEST_F(JobWatchTest, GivesSurvivorsAGracePeriodThenTerminatesThenKills) {
  start_all();
  after(1h);
  report(Kind::kKilled, 1, SIGKILL);
  expect_after(JobWatch::kGrace, Action::kTerminate);
  expect_after(JobWatch::kKillAfter, Action::kKill);
  EXPECT_EQ(after(1h), Action::kWait);
  EXPECT_LT(JobWatch::kGrace + JobWatch::kKillAfter, 10s);
}

TEST_F(JobWatchTest, DoesNotExtendTheGracePeriodForFurtherFailures) {
  start_all();
  report(Kind::kExited, 1, 3);
  after(JobWatch::kGrace - 1ms);
  report(Kind::kExited, 0, 4);
  EXPECT_EQ(after(1ms), Action::kTerminate);
}

// Rank 1 hangs, whether or not its library reports the broken job.
TEST_F(JobWatchTest, ShortensTheGracePeriodOfABlamedRankThatIsLeftAlone) {
  for (const bool reports : {false, true}) {
    restart();
    connect_all();
    blame(0, 1);
    blame(2, 1);
    if (reports) blame(1, 1);
    report(Kind::kExited, 0, 5);
    EXPECT_EQ(after(JobWatch::kGraceOfBlamed), Action::kWait);
    report(Kind::kExited, 2, 5);
    expect_after(JobWatch::kGraceOfBlamed, Action::kTerminate);
  }
}

TEST_F(JobWatchTest, KillsABlamedRankThatHangsSooner) {
  connect_all();
  for (const int rank : {0, 2}) {
    blame(rank, 1);
    report(Kind::kExited, rank, 5);
  }
  expect_after(JobWatch::kGraceOfBlamed, Action::kTerminate);
  expect_after(JobWatch::kKillBlamedAfter, Action::kKill);
  EXPECT_LT(JobWatch::kGraceOfBlamed + JobWatch::kKillBlamedAfter, 3s);
}

// A stopped rank that SIGTERM lets go on may end by itself.
TEST_F(JobWatchTest, BlamesNoRankForItsEndWhenTheJobIsEnded) {
  connect_all();
  for (const int rank : {0, 2}) {
    blame(rank, 1);
    report(Kind::kExited, rank, 5);
  }
  EXPECT_EQ(after(JobWatch::kGraceOfBlamed), Action::kTerminate);
  report(Kind::kExited, 1, 6);
  expect_verdict(status_of(0), 5,
                 "rank 1 on host 'a' (pid 101) broke the job: it broke");
}

TEST_F(JobWatchTest, GivesABlamedRankThatBlamesAnotherItsGracePeriod) {
  connect_all();
  for (const int rank : {0, 2}) {
    blame(rank, 1);
    report(Kind::kExited, rank, 5);
  }
  blame(1, 0);
  expect_after(JobWatch::kGrace, Action::kTerminate);
}

TEST_F(JobWatchTest, GivesABrokenJobWithoutFailureTimeToSaveItsWork) {
  connect_all();
  blame(0, -1);
  blame(2, -1);
  expect_after(JobWatch::kGraceWithoutFailure, Action::kTerminate);
}

TEST_F(JobWatchTest, EndsAStarterThatStaysAfterItsLastRank) {
  start_all();
  exit_all();
  expect_after(JobWatch::kStarterExitTimeout, Action::kTerminate);
  EXPECT_EQ(after(JobWatch::kKillAfter), Action::kKill);
  expect_verdict(kKilledStatus, 0, "");
}

TEST_F(JobWatchTest, DoesNotGiveAStarterMoreTimeForItsAgents) {
  start_all();
  exit_all();
  EXPECT_EQ(after(JobWatch::kStarterExitTimeout - 1ms), Action::kWait);
  watch_.agent_ended(0, now_);
  EXPECT_EQ(after(1ms), Action::kTerminate);
}

TEST_F(JobWatchTest, EndsAStarterThatOutlivesItsEndedRanks) {
  report(Kind::kKilled, 1, SIGKILL);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
  report(Kind::kExited, 0, 5);
  report(Kind::kExited, 2, 5);
  expect_after(JobWatch::kKillStarterAfter, Action::kKill);
}

TEST_F(JobWatchTest, EndsAStarterWithoutAgents) {
  start_all();
  report(Kind::kExited, 0, 5);
  report(Kind::kExited, 2, 5);
  EXPECT_FALSE(watch_.is_ending());
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
  EXPECT_TRUE(watch_.is_ending());
  watch_.agent_ended(1, now_);
  EXPECT_TRUE(watch_.running().empty());
  EXPECT_EQ(after(JobWatch::kKillStarterAfter), Action::kKill);
}

// Rank 2 runs on the other host.
TEST_F(JobWatchTest, DoesNotWaitForRanksOfAHostThatIsCutOff) {
  start_all();
  for (const int rank : {0, 1}) {
    RankStatus news = news_of(News::kBroken, rank);
    news.set_reason("rank 2 (host 'b', pid 102) is silent");
    news.failure = FailureKind::kSilentNode;
    send(rank, news);
  }
  report(Kind::kExited, 0, 5);
  EXPECT_EQ(after(JobWatch::kStarterExitTimeout), Action::kWait);
  report(Kind::kExited, 1, 5);
  EXPECT_EQ(after(JobWatch::kStarterExitTimeout), Action::kTerminate);
  EXPECT_EQ(after(JobWatch::kKillStarterAfter), Action::kKill);
}

TEST_F(JobWatchTest, KnowsWhichRanksRun) {
  EXPECT_TRUE(watch_.running().empty());
  start_all();
  report(Kind::kExited, 1);
  ASSERT_EQ(watch_.running().size(), 2u);
  EXPECT_EQ(watch_.running()[1].pid, 102);
}

// Signals of the user.

TEST_F(JobWatchTest, BlamesTheUsersSignalAndNotTheRanksThatFollowIt) {
  start_all();
  watch_.signal_arrived(SIGINT, now_);
  report(Kind::kExited, 0, 1);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
  expect_verdict(status_of(1), 128 + SIGINT, "stopped by signal 2 (Interrupt)");
}

TEST_F(JobWatchTest, AcceptsRanksThatSucceedAfterASignal) {
  start_all();
  watch_.signal_arrived(SIGTERM, now_);
  exit_all();
  expect_verdict(status_of(0), 0, "");
}

TEST_F(JobWatchTest, EndsTheGracePeriodAtASecondSignal) {
  start_all();
  watch_.signal_arrived(SIGINT, now_);
  EXPECT_EQ(after(1ms), Action::kWait);
  watch_.signal_arrived(SIGINT, now_);
  EXPECT_EQ(after(0ms), Action::kTerminate);
}

TEST_F(JobWatchTest, BlamesAFailureBeforeTheSignal) {
  start_all();
  report(Kind::kExited, 0, 3);
  watch_.signal_arrived(SIGINT, now_);
  EXPECT_EQ(after(0ms), Action::kTerminate);
  EXPECT_EQ(verdict(status_of(0)).exit_code, 3);
}

TEST_F(JobWatchTest, ShortensTheGracePeriodWhileRanksAreStarting) {
  watch_.signal_arrived(SIGINT, now_);
  EXPECT_EQ(after(0ms), Action::kTerminate);
  EXPECT_EQ(verdict(kKilledStatus).exit_code, 128 + SIGINT);
  restart();
  report(Kind::kStarted, 0);
  watch_.signal_arrived(SIGINT, now_);
  EXPECT_EQ(after(0ms), Action::kWait);
  EXPECT_EQ(after(JobWatch::kKillAfter), Action::kTerminate);
  EXPECT_EQ(verdict(kKilledStatus).exit_code, 128 + SIGINT);
}

// Verdicts.

TEST_F(JobWatchTest, NamesTheFirstFailureByItsTimeAndNotByItsArrival) {
  start_all();
  report(Kind::kExited, 2, 4, /*time=*/2000);
  report(Kind::kKilled, 1, SIGKILL, /*time=*/1000);
  report(Kind::kExited, 0, 5, /*time=*/3000);
  expect_verdict(status_of(0), 128 + SIGKILL, kRank1Killed);
}

TEST_F(JobWatchTest, NamesAnExitCode) {
  start_all();
  report(Kind::kExited, 2, 3);
  expect_verdict(kKilledStatus, 3,
                 "rank 2 on host 'b' (pid 102) exited with code 3");
}

TEST_F(JobWatchTest, AddsTheCauseThatAFailedRankGives) {
  const std::vector<std::string> reasons = {"exited with code 3",
                                            "has had enough"};
  for (const std::string& why : reasons) {
    restart();
    connect_all();
    for (int rank = 0; rank < 3; ++rank) {
      RankStatus news = news_of(News::kBroken, rank);
      news.set_reason("rank 2 (host 'b', pid 102) " + why);
      send(rank, news);
    }
    report(Kind::kExited, 2, 3);
    report(Kind::kExited, 0, 5);
    const std::string end = "rank 2 on host 'b' (pid 102) exited with code 3";
    expect_verdict(kKilledStatus, 3,
                   why == "has had enough" ? end + ": it has had enough" : end);
  }
}

TEST_F(JobWatchTest, NamesACommandThatCannotRun) {
  start_all();
  report(Kind::kNotExecuted, 0, ENOENT);
  expect_verdict(status_of(0), 127,
                 "rank 0 on host 'a' cannot execute './train': No such file or "
                 "directory");
  report(Kind::kNotExecuted, 1, EACCES, /*time=*/-1);
  EXPECT_EQ(watch_.verdict("./train").exit_code, 126);
}

TEST_F(JobWatchTest, NamesTheRanksThatDidNotStartInTime) {
  report(Kind::kStarted, 0);
  EXPECT_EQ(after(30s), Action::kTerminate);
  const Verdict given = verdict(kKilledStatus);
  EXPECT_EQ(given.exit_code, 1);
  EXPECT_THAT(given.line, HasSubstr("ranks 1, 2 did not start within 30 s"));
}

TEST_F(JobWatchTest, BlamesAStarterThatEndedTooEarly) {
  expect_verdict(status_of(213), 213,
                 "mpirun ended with code 213 before ranks 0, 1, 2 had started");
  start_all();
  report(Kind::kExited, 0);
  expect_verdict(status_of(0), 1,
                 "mpirun ended with code 0 before rank 1 on host 'a' had told "
                 "how it ended");
  const Verdict given = verdict(kKilledStatus);
  EXPECT_EQ(given.exit_code, 128 + SIGKILL);
  EXPECT_THAT(given.line, HasSubstr("mpirun was killed by signal 9 (Killed)"));
}

TEST_F(JobWatchTest, BlamesAStarterThatWasKilledOrEndedTheRanksUnasked) {
  for (const auto& [signal, status, code, text] :
       {std::tuple{SIGKILL, kKilledStatus, 128 + SIGKILL,
                   "mpirun was killed by signal 9"},
        std::tuple{SIGTERM, status_of(143), 143,
                   "mpirun ended with code 143"}}) {
    restart();
    connect_all();
    for (int rank = 0; rank < 3; ++rank) {
      if (signal == SIGTERM) blame(rank, (rank + 1) % 3);
      end_by_starter(rank, signal);
    }
    const Verdict given = verdict(status);
    EXPECT_EQ(given.exit_code, code);
    EXPECT_THAT(given.line, HasSubstr(text));
  }
}

TEST_F(JobWatchTest, NamesAProcessThatSigkillDoesNotEndOnce) {
  start_all();
  report(Kind::kExited, 0, 3);
  Report process = {.kind = Kind::kLeftBehind,
                    .rank = 1,
                    .pid = 4711,
                    .host = "a",
                    .text = "thread 4711 is in state D"};
  watch_.report_arrived(process, now_);
  process.rank = -1;
  watch_.left_behind(process);
  expect_verdict(kKilledStatus, 3,
                 "rank 0 on host 'a' (pid 100) exited with code 3; process "
                 "4711 of rank 1 on host 'a' is left behind: SIGKILL does not "
                 "end it, and its thread 4711 is in state D");
}

TEST_F(JobWatchTest, IgnoresReportsOfRanksThatDoNotExist) {
  report(Kind::kExited, 3, 1);
  start_all();
  exit_all();
  expect_verdict(status_of(0), 0, "");
}

TEST_F(JobWatchTest, DoesNotBlameARankThatTheStarterEnded) {
  connect_all();
  end_by_starter(0, SIGTERM, /*time=*/1);
  report(Kind::kExited, 1, 3, /*time=*/2);
  EXPECT_EQ(verdict(status_of(1)).exit_code, 3);
}

TEST_F(JobWatchTest, BlamesARankThatLeftSilentlyWithCode0) {
  connect_all();
  report(Kind::kExited, 1, 0);
  for (const int rank : {0, 2}) {
    blame(rank, 1);
    report(Kind::kExited, rank, 5 + rank);
  }
  expect_verdict(status_of(0), 5,
                 "rank 1 on host 'a' (pid 101) exited with code 0 while others "
                 "still needed it");
}

TEST_F(JobWatchTest, BlamesARankThatHungUntilItWasEnded) {
  connect_all();
  for (const int rank : {0, 1}) {
    blame(rank, 2);
    report(Kind::kExited, rank, 5);
  }
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
  end_by_starter(2, SIGTERM);
  expect_verdict(kKilledStatus, 5,
                 "rank 2 on host 'b' (pid 102) broke the job: it broke");
}

TEST_F(JobWatchTest, BlamesTheRankThatMostOthersBlame) {
  connect_all();
  blame(0, 2);
  blame(1, 2);
  blame(2, 1);
  exit_all(5);
  expect_verdict(status_of(0), 5,
                 "rank 2 on host 'b' (pid 102) exited with code 5 while others "
                 "still needed it");
}

TEST_F(JobWatchTest, BelievesTheFirstErrorOfARank) {
  connect_all();
  blame(0, 2);
  blame(0, 1);
  report(Kind::kExited, 0, 5);
  report(Kind::kExited, 1, 0);
  report(Kind::kExited, 2, 0);
  EXPECT_THAT(verdict(status_of(0)).line,
              HasSubstr("rank 2 on host 'b' (pid 102) exited with code 0"));
}

TEST_F(JobWatchTest, NamesTheCauseAndEndedSurvivors) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  blame(0, 1);
  report(Kind::kExited, 0, 5);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
  end_by_starter(2, SIGTERM);
  expect_verdict(status_of(1), 128 + SIGKILL,
                 kRank1Killed +
                     "; rank 2 on host 'b' (pid 102) did not notice "
                     "and had to be ended");
}

// A rank that a peer hindered, but that goes on, has not failed.
TEST_F(JobWatchTest, LetsHinderedRanksGoOn) {
  connect_all();
  blame(0, 1, News::kPeerLeftEarly);
  report(Kind::kExited, 1, 0);
  EXPECT_EQ(after(1000h), Action::kWait);
  report(Kind::kExited, 0, 0);
  report(Kind::kExited, 2, 0);
  EXPECT_EQ(verdict(status_of(0)).exit_code, 0);
}

// Jobs that re-form.

TEST_F(JobWatchTest, LetsSurvivorsReform) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  blame(0, 1);
  EXPECT_EQ(after(JobWatch::kGrace - 1ms), Action::kWait);
  send_reforming(0, 30s);
  EXPECT_EQ(after(30s), Action::kWait);
  send_reformed(0, {1});
  EXPECT_EQ(after(1000h), Action::kWait);
}

TEST_F(JobWatchTest, LimitsTheTimeOfReforming) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  send_reforming(0, 30s);
  send_reforming(2, 20s);
  EXPECT_EQ(after(30s + JobWatch::kGrace - 1ms), Action::kWait);
  EXPECT_EQ(after(1ms), Action::kWait);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
}

TEST_F(JobWatchTest, EndsASilentRankOnceTheJobWithoutItHasEnded) {
  connect_all();
  blame(0, 1);
  blame(2, 1);
  reform_without_rank_1();
  EXPECT_EQ(after(1h), Action::kWait);
  report(Kind::kExited, 0);
  report(Kind::kExited, 2);
  expect_after(JobWatch::kGrace, Action::kTerminate);
  end_by_starter(1, SIGTERM);
  expect_verdict(kKilledStatus, 0,
                 "the job went on, and ended well, without rank 1 on host 'a' "
                 "(pid 101), which was silent");
}

TEST_F(JobWatchTest, GivesANewGracePeriodAtTheNextLoss) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  reform_without_rank_1();
  after(1h);
  report(Kind::kExited, 2, 3, /*time=*/5000);
  expect_after(JobWatch::kGrace, Action::kTerminate);
  EXPECT_EQ(verdict(status_of(0)).exit_code, 3);
}

TEST_F(JobWatchTest, EndsSurvivorsThatGaveUpReforming) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  send_reforming(0);
  after(10s);
  blame(0, 2);
  expect_after(JobWatch::kGrace, Action::kTerminate);
}

TEST_F(JobWatchTest, DoesNotWaitForANewcomerThatHasNotJoined) {
  connect_all();
  EXPECT_EQ(watch_.add_newcomer("a"), 3);
  report(Kind::kStarted, 3);
  exit_all();
  EXPECT_EQ(watch_.next_action(now_), Action::kTerminate);
  end_by_starter(3, SIGTERM);
  expect_verdict(status_of(0), 0, "");
}

TEST_F(JobWatchTest, GoesOnWhenANewcomerFailsBeforeItHasJoined) {
  connect_all();
  EXPECT_EQ(watch_.add_newcomer("a"), 3);
  report(Kind::kStarted, 3);
  report(Kind::kExited, 3, 7);
  EXPECT_EQ(after(1h), Action::kWait);
  exit_all();
  expect_verdict(status_of(0), 0, "");
}

TEST_F(JobWatchTest, CountsANewcomerThatHasJoinedAsARank) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  reform_without_rank_1();
  join_newcomer();
  report(Kind::kExited, 0);
  report(Kind::kExited, 2);
  EXPECT_EQ(after(1h), Action::kWait);
  report(Kind::kExited, 3);
  expect_verdict(status_of(0), 0,
                 "the job went on, and ended well, without rank 1 on host 'a' "
                 "(pid 101), which was killed by signal 9 (Killed)");
}

TEST_F(JobWatchTest, GivesSurvivorsTheWholeGracePeriodAfterASignal) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  reform_without_rank_1();
  watch_.signal_arrived(SIGTERM, now_);
  expect_after(JobWatch::kGrace, Action::kTerminate);
  end_by_starter(0, SIGTERM);
  end_by_starter(2, SIGTERM);
  expect_verdict(status_of(143), 143, "stopped by signal 15 (Terminated)");
}

TEST_F(JobWatchTest, EndsAnElasticJobThatCannotGoOn) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  watch_.cannot_go_on("it has lost 1 ranks", now_);
  EXPECT_EQ(watch_.next_action(now_), Action::kTerminate);
  end_by_starter(0, SIGTERM);
  end_by_starter(2, SIGTERM);
  expect_verdict(status_of(143), 1,
                 "the job cannot go on: it has lost 1 ranks; rank 1 on host "
                 "'a' (pid 101) was killed by signal 9 (Killed)");
}

TEST_F(JobWatchTest, TakesTheEndOfARankThatLeavesForNoFailure) {
  for (const bool by_launcher : {false, true}) {
    restart_elastic();
    connect_all();
    if (by_launcher) {
      watch_.dismiss(1);
      report(Kind::kStopping, 1);
    } else {
      report(Kind::kLeaving, 1);
    }
    EXPECT_TRUE(watch_.record().ranks[1].is_leaving);
    report(Kind::kKilled, 1, SIGKILL);
    reform_without_rank_1();
    report(Kind::kExited, 0);
    report(Kind::kExited, 2);
    expect_verdict(
        status_of(0), 0,
        "the job went on, and ended well, without rank 1 on host 'a' "
        "(pid 101), which left as planned");
  }
}

TEST_F(JobWatchTest, AcceptsARankThatLeavesWhileTheOthersEnd) {
  restart_elastic();
  connect_all();
  report(Kind::kLeaving, 1);
  report(Kind::kExited, 1, 7);
  report(Kind::kExited, 0);
  report(Kind::kExited, 2);
  expect_verdict(status_of(0), 0, "");
}

TEST_F(JobWatchTest, TakesNoEndOfTheJobForALeave) {
  connect_all();
  report(Kind::kLeaving, 1);
  EXPECT_FALSE(watch_.record().ranks[1].is_leaving);
  restart_elastic();
  connect_all();
  watch_.signal_arrived(SIGTERM, now_);
  report(Kind::kLeaving, 1);
  EXPECT_FALSE(watch_.record().ranks[1].is_leaving);
}

TEST_F(JobWatchTest, LetsTheRanksOfAHostLeaveThatSigtermTakesAway) {
  restart_elastic({{"x", 1}, {"y", 2}});
  connect_all();
  end_by_starter(1, SIGTERM);
  end_by_starter(2, SIGTERM);
  report_lost_host(128 + SIGTERM);
  EXPECT_TRUE(watch_.record().ranks[1].left_as_planned());
  EXPECT_TRUE(watch_.record().ranks[2].left_as_planned());
  restart_elastic({{"x", 1}, {"y", 2}});
  connect_all();
  report_lost_host(255);
  EXPECT_FALSE(watch_.record().ranks[1].left_as_planned());
}

TEST_F(JobWatchTest, GoesOnWhenTheHostOfANewcomerCannotBeReached) {
  restart_on_two_hosts();
  connect_all();
  report(Kind::kKilled, 0, SIGKILL);
  send_reforming(1);
  send_reformed(1, {0});
  send_reformed(2);
  EXPECT_EQ(watch_.add_newcomer("z"), 3);
  watch_.report_arrived({.kind = Kind::kHostLost, .value = 255, .host = "z"},
                        now_);
  EXPECT_TRUE(watch_.record().ranks[3].host_is_lost());
  EXPECT_EQ(after(1h), Action::kWait);
}

TEST_F(JobWatchTest, IdentifiesRenumberedRanksByTheirProcess) {
  connect_all();
  send_reformed(2, {0});  // Rank 2 is rank 1 now, and rank 1 is rank 0.
  send_reformed(1);
  RankStatus news = news_of(News::kBroken, 2);
  news.culprits = {{.rank = 0, .host = "a", .pid = 101}};
  send(2, news);
  report(Kind::kExited, 2, 5, /*time=*/1);
  report(Kind::kExited, 1, 3, /*time=*/2);
  EXPECT_EQ(verdict(status_of(0)).exit_code, 3);
}

// Jobs that are starting.

TEST_F(JobWatchTest, EndsAJobThatCannotBegin) {
  for (const int code : {0, 1}) {
    restart();
    start_all();
    send(0, News::kJoining);
    EXPECT_EQ(after(1h), Action::kWait);
    report(Kind::kExited, 1, code);
    EXPECT_EQ(after(0ms), Action::kTerminate);
    end_by_starter(0, SIGTERM, /*time=*/-1);
    const Verdict given = verdict(kKilledStatus);
    EXPECT_EQ(given.exit_code, 1);
    EXPECT_THAT(given.line, HasSubstr("rank 1 on host 'a' (pid 101) exited"));
  }
}

TEST_F(JobWatchTest, LetsConnectedRanksNoticeALossAtTheStart) {
  connect_all();
  report(Kind::kKilled, 1, SIGKILL);
  EXPECT_EQ(after(0ms), Action::kWait);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
}

TEST_F(JobWatchTest, EndsARankThatWaitsForeverUnlessItConnectsSoon) {
  for (const bool connects : {false, true}) {
    restart();
    start_all();
    connect(0);
    send(2, News::kJoining);
    report(Kind::kKilled, 1, SIGKILL);
    EXPECT_EQ(after(JobWatch::kGraceAtStart - 1ms), Action::kWait);
    if (connects) {
      send(2, News::kConnected);
      EXPECT_EQ(after(1ms), Action::kWait);
      continue;
    }
    EXPECT_EQ(watch_.deadline(), now_ + 1ms);
    EXPECT_EQ(after(1ms), Action::kTerminate);
    // mpirun itself may sleep for a second.
    EXPECT_EQ(after(JobWatch::kKillStarterAfter), Action::kKill);
    expect_verdict(kKilledStatus, 128 + SIGKILL, kRank1Killed);
  }
}

// Lost hosts.

TEST_F(JobWatchTest, NamesALostHostAndItsRanks) {
  restart_on_two_hosts();
  connect_all();
  report_lost_host(255);
  blame(0, 1);
  EXPECT_EQ(after(JobWatch::kGrace - 1ms), Action::kWait);
  report(Kind::kExited, 0, 5);
  EXPECT_EQ(after(JobWatch::kStarterExitTimeout), Action::kTerminate);
  expect_verdict(status_of(1), 1,
                 "host 'y' was lost, and with it ranks 1, 2; what connected to "
                 "it ended with code 255");
}

// mpirun ends its own ranks when it loses the way to another host.
TEST_F(JobWatchTest, NamesALostHostWhoseRanksBlameTheOtherSide) {
  restart_on_two_hosts();
  connect_all();
  report_lost_host(255);
  end_by_starter(0, SIGKILL);
  blame(1, 0);
  blame(2, 0);
  EXPECT_THAT(verdict(status_of(255)).line,
              HasSubstr("host 'y' was lost, and with it ranks 1, 2"));
}

// As the process there does if it gets a signal.
TEST_F(JobWatchTest, NamesAHostWhoseRanksWereEndedThere) {
  restart_on_two_hosts();
  connect_all();
  end_by_starter(1, SIGTERM);
  end_by_starter(2, SIGTERM);
  report_lost_host(143);
  blame(0, 1);
  EXPECT_EQ(after(JobWatch::kGrace - 1ms), Action::kWait);
  report(Kind::kExited, 0, 5);
  expect_verdict(status_of(0), 1,
                 "host 'y' was lost, and with it ranks 1, 2; what connected to "
                 "it ended with code 143");
}

// A helper process of a rank may outlive it for a second.
TEST_F(JobWatchTest, NamesAStarterThatEndsItsRanksSlowly) {
  connect_all();
  for (int rank = 0; rank < 3; ++rank) end_by_starter(rank, SIGTERM);
  blame(0, 2);
  EXPECT_EQ(after(JobWatch::kStarterExitTimeout), Action::kTerminate);
  EXPECT_THAT(verdict(status_of(143)).line,
              HasSubstr("mpirun ended with code 143 before rank 0"));
}

TEST_F(JobWatchTest, NamesASurvivorThatDidNotNoticeTheLossOfAHost) {
  restart_on_two_hosts();
  connect_all();
  report_lost_host(255);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
  EXPECT_THAT(verdict(status_of(1)).line,
              HasSubstr("ended with code 255; rank 0 on host 'a' (pid 100) did "
                        "not notice and had to be ended"));
}

TEST_F(JobWatchTest, EndsAtOnceIfAHostCannotBeReached) {
  for (const auto& [value, reason] :
       {std::pair{255, "what connected to it ended with code 255"},
        std::pair{-SIGKILL,
                  "the ssh connection to it ended by signal 9 (Killed)"}}) {
    restart_on_two_hosts();
    report_lost_host(value);
    EXPECT_EQ(after(0ms), Action::kTerminate);
    EXPECT_THAT(
        verdict(status_of(1)).line,
        HasSubstr(std::string("host 'y' cannot be reached for ranks 1, 2: ") +
                  reason));
  }
}

TEST_F(JobWatchTest, SurvivesTheEndOfSshAfterItsRanksHaveStarted) {
  restart_on_two_hosts();
  connect_all();
  report_lost_host(-SIGKILL);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kWait);
}

TEST_F(JobWatchTest, LosesTheRanksOfAHostWithTheConnectionThatTheyNeed) {
  watch_ = JobWatch({.ranks = 3,
                     .start_timeout = 30s,
                     .hosts = {{"x", 1}, {"y", 2}},
                     .starter = "s",
                     .hosts_need_connections = true},
                    now_);
  connect_all();
  report_lost_host(-SIGKILL);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
  EXPECT_THAT(verdict(status_of(1)).line,
              HasSubstr("host 'y' was lost, and with it ranks 1, 2; the ssh "
                        "connection to it ended by signal 9 (Killed)"));
}

TEST_F(JobWatchTest, NamesALostHostWhoseAgentsWereStopped) {
  restart_on_two_hosts();
  connect_all();
  end_by_starter(1, SIGKILL);
  report(Kind::kStopping, 2);
  report_lost_host(255);
  EXPECT_EQ(after(JobWatch::kGrace), Action::kTerminate);
  EXPECT_THAT(verdict(status_of(1)).line,
              HasSubstr("host 'y' was lost, and with it ranks 1, 2; what "
                        "connected to it ended with code 255"));
}

TEST_F(JobWatchTest, SpeaksOfOpenMpiOnlyIfItStartsTheRanks) {
  for (const bool by_mpirun : {true, false}) {
    watch_ = JobWatch({.ranks = 3,
                       .start_timeout = 30s,
                       .hosts = {{"x", 1}, {"y", 2}},
                       .starter = by_mpirun ? "mpirun" : "s"},
                      now_);
    report_lost_host(255);
    EXPECT_EQ(after(0ms), Action::kTerminate);
    const std::string line = verdict(status_of(1)).line;
    EXPECT_THAT(line, HasSubstr("check that 'ssh y true' works"));
    EXPECT_EQ(line.find("Open MPI") != std::string::npos, by_mpirun) << line;
  }
}

// Reports in every order. Each rank's own reports stay in order.
class EveryOrder : public testing::Test {
 protected:
  using Event = std::function<void(JobWatch&)>;
  static constexpr Clock::TimePoint kNow{};

  static Event report(Kind kind, int rank, int value, std::int64_t time) {
    return [=](JobWatch& watch) {
      watch.report_arrived({kind, rank, 100 + rank, value, time, "a"}, kNow);
    };
  }
  static Event news(int rank, News kind, const std::string& reason = "",
                    const std::vector<int>& lost = {}) {
    RankStatus news = {.kind = kind,
                       .host = "a",
                       .pid = 100 + rank,
                       .timeout = 30s,
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
      news(rank, News::kConnected)(watch);
    }
    return watch;
  }

  // `events` are each rank's. Returns the number of orders.
  static int for_every_order(const std::vector<std::vector<Event>>& events,
                             const std::function<void(JobWatch&)>& check) {
    std::vector<size_t> order;
    for (size_t rank = 0; rank < events.size(); ++rank) {
      order.insert(order.end(), events[rank].size(), rank);
    }
    int orders = 0;
    do {
      JobWatch watch = started();
      std::vector<size_t> next(events.size());
      for (const size_t rank : order) events[rank][next[rank]++](watch);
      check(watch);
      ++orders;
    } while (std::next_permutation(order.begin(), order.end()));
    return orders;
  }

  // Expects this verdict, without "horovodrun: ", after every order.
  static int expect_verdict(const std::vector<std::vector<Event>>& events,
                            int code, const std::string& line) {
    return for_every_order(events, [&](JobWatch& watch) {
      watch.starter_ended(status_of(0));
      const Verdict verdict = watch.verdict("./train");
      EXPECT_EQ(verdict.exit_code, code);
      EXPECT_EQ(verdict.line, "horovodrun: " + line);
    });
  }
};

const std::string kRank1Ended =
    "rank 1 (host 'a', pid 101) ended without leaving";
const std::string kRank0Ended =
    "rank 0 (host 'a', pid 100) ended without leaving";
const std::string kRank1Left =
    "rank 1 (host 'a', pid 101) shut down before every rank had submitted 'x'";
const std::string kRank1Needed =
    "rank 1 on host 'a' (pid 101) exited with code 0 while others still needed "
    "it";

TEST_F(EveryOrder, BlamesTheCauseEvenIfItsEndIsSeenLast) {
  EXPECT_EQ(expect_verdict({{news(0, News::kBroken, kRank1Ended),
                             report(Kind::kExited, 0, 5, 1000)},
                            {report(Kind::kKilled, 1, SIGKILL, 9000)},
                            {news(2, News::kBroken, kRank1Ended),
                             report(Kind::kKilled, 2, SIGABRT, 2000)}},
                           128 + SIGKILL, kRank1Killed),
            30);
}

TEST_F(EveryOrder, BlamesARankThatExitsAndReportsIt) {
  const std::string why = "rank 1 (host 'a', pid 101) exited with code 3";
  expect_verdict(
      {{news(0, News::kBroken, why), report(Kind::kExited, 0, 5, 1000)},
       {news(1, News::kBroken, why), report(Kind::kExited, 1, 3, 9000)},
       {news(2, News::kBroken, why), report(Kind::kExited, 2, 5, 2000)}},
      3, "rank 1 on host 'a' (pid 101) exited with code 3");
}

// Rank 1 left early, which ended ranks 0 and 2. A rank that did not hear of
// rank 1 may blame the other one's end.
TEST_F(EveryOrder, BlamesARankThatLeftEarlyAndNotTheHinderedOnes) {
  expect_verdict(
      {{news(0, News::kPeerLeftEarly, kRank1Left),
        report(Kind::kExited, 0, 5, 1000)},
       {news(1, News::kBroken, kRank1Left), report(Kind::kExited, 1, 0, 9000)},
       {news(2, News::kPeerLeftEarly, kRank1Left),
        news(2, News::kBroken, kRank0Ended),
        report(Kind::kExited, 2, 6, 2000)}},
      5, kRank1Needed);
}

// Rank 1 itself may see only the end of another rank while it leaves.
TEST_F(EveryOrder, BlamesARankThatLeftEarlyThoughItBlamesAnother) {
  expect_verdict(
      {{news(0, News::kPeerLeftEarly, kRank1Left),
        report(Kind::kExited, 0, 5, 1000)},
       {news(1, News::kBroken, kRank0Ended), report(Kind::kExited, 1, 0, 9000)},
       {report(Kind::kExited, 2, 0, 9000)}},
      5, kRank1Needed);
}

TEST_F(EveryOrder, AcceptsAJobThatWentOn) {
  std::vector<std::vector<Event>> events = {
      {news(0, News::kBroken, kRank1Ended), news(0, News::kReforming),
       news(0, News::kReformed, "", {1})},
      {report(Kind::kKilled, 1, SIGKILL, 1000)},
      {news(2, News::kBroken, kRank1Ended), news(2, News::kReforming),
       news(2, News::kReformed)}};
  for_every_order(events, [](JobWatch& watch) {
    EXPECT_EQ(watch.deadline(), Clock::TimePoint::max());
    EXPECT_EQ(watch.next_action(kNow + 1000h), Action::kWait);
  });
  for (const int rank : {0, 2}) {
    events[static_cast<size_t>(rank)].push_back(
        report(Kind::kExited, rank, 0, 9000));
  }
  expect_verdict(events, 0,
                 "the job went on, and ended well, without rank 1 on host 'a' "
                 "(pid 101), which was killed by signal 9 (Killed)");
}

}  // namespace
}  // namespace hvd::launcher
