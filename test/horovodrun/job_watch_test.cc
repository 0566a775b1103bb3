#include "horovodrun/job_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

namespace hvd::launcher {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Action = JobWatch::Action;
using Kind = Report::Kind;

constexpr int kKilledStatus = SIGKILL;  // As waitpid gives them.
constexpr int status_of(int code) { return code << 8; }

class JobWatchTest : public testing::Test {
 protected:
  static constexpr Clock::TimePoint kStart{};

  JobWatchTest() : watch_(3, 30s, kStart) {}

  void report(Kind kind, int rank, int value = 0, std::int64_t time = 0) {
    watch_.report_arrived(
        {kind, rank, 100 + rank, value, time, rank < 2 ? "a" : "b"}, now_);
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
            "horovodrun: mpirun ended with code 213 before rank 0 had started");
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
  EXPECT_EQ(after(JobWatch::kFarewell), Action::kTerminate);
  EXPECT_EQ(verdict_after_mpirun(kKilledStatus).exit_code, 128 + SIGINT);
}

TEST_F(JobWatchTest, KnowsWhoIsRunning) {
  EXPECT_TRUE(watch_.running().empty());
  start_all();
  report(Kind::kExited, 1);
  ASSERT_EQ(watch_.running().size(), 2u);
  EXPECT_EQ(watch_.running()[1].pid, 102);
}

TEST_F(JobWatchTest, IgnoresReportsOfRanksThatDoNotExist) {
  report(Kind::kExited, 3, 1);
  start_all();
  exit_all();
  EXPECT_EQ(verdict_after_mpirun(status_of(0)).exit_code, 0);
}

}  // namespace
}  // namespace hvd::launcher
