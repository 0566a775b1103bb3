// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/node/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "horovodpp/core/job/host_name.h"
#include "horovodrun/output/report.h"
#include "horovodrun/output/stderr_filter.h"
#include "horovodrun/system/process.h"
#include "test/horovodrun/test_process.h"

namespace hvd::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = Report::Kind;

// An agent as mpirun would start it for rank 1.
std::vector<std::string> agent_argv(const std::vector<std::string>& command) {
  std::vector<std::string> argv = {HVD_HOROVODRUN, "--agent", "--"};
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

const std::map<std::string, std::string> kRankOne = {
    {"HOROVODRUN_TOKEN", "cafe"},
    {"PMI_RANK", "1"},
    {"MPI_LOCALNRANKS", "2"},
    {"MPI_LOCALRANKID", "1"}};

struct Reported {
  std::string text;
  std::vector<Report> reports;          // Without the messages of last lines,
  std::vector<std::string> last_lines;  // which are here.
};

Reported read_reports(const Outcome& outcome) {
  Reported reported;
  ReportFilter filter("cafe");
  filter.feed(outcome.err, &reported.text, &reported.reports);
  filter.finish(&reported.text);
  std::erase_if(reported.reports, [&](const Report& report) {
    if (report.kind != Kind::kLastLine) return false;
    reported.last_lines.push_back(report.text);
    return true;
  });
  return reported;
}

TEST(Agent, ReportsStartAndEndAndSucceedsItself) {
  TestProcess process(agent_argv({"sh", "-c", "printf oops >&2; exit 3"}),
                      kRankOne);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  const Reported reported = read_reports(outcome);
  EXPECT_EQ(reported.text, "oops");
  ASSERT_THAT(reported.reports, SizeIs(2));
  const Report& started = reported.reports[0];
  EXPECT_EQ(started.kind, Kind::kStarted);
  EXPECT_EQ(started.pid, process.pid());
  const Report& ended = reported.reports[1];
  EXPECT_EQ(ended.kind, Kind::kExited);
  EXPECT_EQ(ended.rank, 1);
  EXPECT_EQ(ended.value, 3);
  EXPECT_EQ(ended.host, host_name());
  EXPECT_GE(ended.time, started.time);
  EXPECT_THAT(reported.last_lines, ElementsAre("oops"));
}

TEST(Agent, ReportsNoLastLinesOfASuccess) {
  TestProcess process(agent_argv({"sh", "-c", "echo remark >&2"}), kRankOne);
  const Reported reported = read_reports(process.wait());
  EXPECT_EQ(reported.text, "remark\n");
  EXPECT_THAT(reported.last_lines, IsEmpty());
}

// As on a host from which the launcher does not read streams.
TEST(Agent, AddsPrefixesHidesStreamsAndWritesFilesItself) {
  std::string folder = ::testing::TempDir() + "/agent.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::map<std::string, std::string> environment = kRankOne;
  environment["HOROVOD_SIZE"] = "2";
  environment["HOROVODRUN_PREFIX"] = "p";
  environment["HOROVODRUN_FILES"] = folder;
  environment["HOROVODRUN_REDIRECTS"] = "1:2";
  environment["HOROVODRUN_LOG_BYTES"] = "4";
  environment["HOROVODRUN_LOG_FILES"] = "3";
  TestProcess process(
      agent_argv({"sh", "-c",
                  "echo one; echo two; echo alas >&2; env | grep ^HOROVODRUN_; "
                  "exit 3"}),
      environment);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.out, "[1]<stdout>:one\n[1]<stdout>:two\n");
  const Reported reported = read_reports(outcome);
  EXPECT_EQ(reported.text, "");
  EXPECT_THAT(reported.last_lines, ElementsAre("alas"));
  const auto contents = [&](const std::string& name) {
    std::ifstream file(folder + "/rank.1/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(contents("stdout.1"), "one\n");
  EXPECT_EQ(contents("stdout"), "two\n");
  EXPECT_EQ(contents("stderr"), "alas\n");
  std::filesystem::remove_all(folder);
}

TEST(Agent, ReportsHowTheCommandEnds) {
  struct Case {
    std::vector<std::string> command;
    Kind kind;
    int value;
  };
  for (const Case& one : std::vector<Case>{
           {{"sh", "-c", "kill -SEGV $$"}, Kind::kKilled, SIGSEGV},
           {{"./no-such-program"}, Kind::kNotExecuted, ENOENT},
           // Its supervisor is killed.
           {{"sh", "-c", "setsid sleep 1000 & kill -KILL $PPID; sleep 1000"},
            Kind::kKilled,
            SIGKILL}}) {
    TestProcess process(agent_argv(one.command), kRankOne);
    const Reported reported = read_reports(process.wait());
    ASSERT_THAT(reported.reports, SizeIs(2));
    EXPECT_EQ(reported.reports[1].kind, one.kind);
    EXPECT_EQ(reported.reports[1].value, one.value);
    EXPECT_TRUE(process.alive().empty());
  }
}

TEST(Agent, SetsUpTheCommandForItsNode) {
  TestProcess process(agent_argv({"sh", "-c", "echo threads $OMP_NUM_THREADS"}),
                      kRankOne);
  EXPECT_THAT(process.wait().out, HasSubstr("threads "));
  std::map<std::string, std::string> environment = kRankOne;
  environment["OMP_NUM_THREADS"] = "17";
  TestProcess set(agent_argv({"sh", "-c", "echo threads $OMP_NUM_THREADS"}),
                  environment);
  EXPECT_EQ(set.wait().out, "threads 17\n");
}

TEST(Agent, TranslatesSignals) {
  TestProcess process(
      agent_argv({"bash", "-c",
                  "for s in INT TERM HUP USR1; do trap \"echo heard $s\" $s; "
                  "done; trap 'exit 9' USR2; echo ready; "
                  "while :; do sleep 1000 & wait $!; kill $!; done"}),
      kRankOne);
  ASSERT_TRUE(process.wait_for("ready"));
  int heard = 0;
  for (const int signal : {SIGALRM, SIGABRT, SIGHUP, SIGUSR1}) {
    process.send(signal);
    ASSERT_TRUE(process.wait_for("heard", ++heard));
  }
  process.send(SIGUSR2);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.out,
            "ready\nheard INT\nheard TERM\nheard HUP\nheard USR1\n");
  const Reported reported = read_reports(outcome);
  ASSERT_THAT(reported.reports, SizeIs(2));
  EXPECT_EQ(reported.reports[1].value, 9);
}

TEST(Agent, EndsAStoppedCommand) {
  TestProcess process(agent_argv({"sh", "-c", "echo ready; kill -STOP $$"}),
                      kRankOne);
  ASSERT_TRUE(process.wait_for("ready"));
  process.send(SIGTERM);
  const Reported reported = read_reports(process.wait());
  EXPECT_EQ(reported.reports.back().kind, Kind::kKilled);
  EXPECT_EQ(reported.reports.back().value, SIGTERM);
}

TEST(Agent, ReportsThatAnotherProcessThanItsStarterEndsIt) {
  for (const bool by_starter : {false, true}) {
    TestProcess process(
        agent_argv({"sh", "-c",
                    by_starter ? "echo ready; exec sleep 1000"
                               : "read -r pid name state agent rest < "
                                 "/proc/$PPID/stat; echo ready; kill $agent; "
                                 "exec sleep 1000"}),
        kRankOne);
    ASSERT_TRUE(process.wait_for("ready"));
    if (by_starter) process.send(SIGTERM);
    const Reported reported = read_reports(process.wait());
    ASSERT_THAT(reported.reports, SizeIs(3));
    EXPECT_EQ(reported.reports[1].kind,
              by_starter ? Kind::kStopping : Kind::kLeaving);
    EXPECT_EQ(reported.reports[2].value, SIGTERM);
  }
}

TEST(Agent, PassesSignalsOnToChildrenOfTheCommand) {
  TestProcess process(
      agent_argv({"bash", "-c",
                  "trap : USR1; bash -c \"trap 'echo heard; kill \\$!; exit' "
                  "USR1; sleep 1000 & echo ready; while :; do wait; done\" & "
                  "wait; wait"}),
      kRankOne);
  ASSERT_TRUE(process.wait_for("ready"));
  process.send(SIGUSR1);
  EXPECT_THAT(process.wait().out, HasSubstr("heard"));
}

TEST(Agent, LeavesNoProcessWhenKilled) {
  TestProcess process(
      agent_argv({"sh", "-c",
                  "trap '' TERM; setsid sleep 1000 & echo ready; sleep 1000"}),
      kRankOne);
  ASSERT_TRUE(process.wait_for("ready"));
  process.send(SIGTERM);
  process.send(SIGKILL);
  process.wait_for_exit();
  EXPECT_TRUE(process.all_gone());
}

TEST(Agent, LeavesNoProcessOfTheCommandBehind) {
  TestProcess process(
      agent_argv({"sh", "-c",
                  "setsid sleep 1000 & sleep 1000 & (sleep 1000 &); exit 0"}),
      kRankOne);
  process.wait_for_exit();
  EXPECT_TRUE(process.alive().empty());
}

TEST(Agent, EndsWithItsParent) {
  // The shell stands in for mpirun. Its end, even by SIGKILL, must end all
  // processes.
  const std::string script =
      "\"$0\" --agent -- sh -c 'echo ready; trap \"\" TERM; setsid sleep "
      "1000' & wait";
  TestProcess process({"sh", "-c", script, HVD_HOROVODRUN}, kRankOne);
  ASSERT_TRUE(process.wait_for("ready"));
  process.send(SIGKILL);
  process.wait_for_exit();
  EXPECT_TRUE(process.all_gone());
}

TEST(Agent, IsNotForUsers) {
  TestProcess process(agent_argv({"true"}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--agent is not for users"));
}

}  // namespace
}  // namespace hvd::launcher
