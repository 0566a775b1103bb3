// SPDX-License-Identifier: Apache-2.0
// The built horovodrun with the installed mpirun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/core/host_name.h"
#include "horovodrun/system/process.h"
#include "test/horovodrun/frozen_group.h"
#include "test/horovodrun/test_process.h"

namespace hvd::launcher {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

Words horovodrun(const Words& options, const Words& command) {
  Words argv = {HVD_HOROVODRUN};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

// Runs `script` with RANK_OF_JOB set to the rank, whether mpirun or horovodrun
// started the process.
Words shell(const std::string& script) {
  return {
      "bash", "-c",
      "RANK_OF_JOB=${HOROVOD_RANK:-$OMPI_COMM_WORLD_RANK$PMI_RANK}; " + script};
}

// Holds whether mpirun or horovodrun itself starts the ranks.
class HorovodrunEitherWay : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(, HorovodrunEitherWay,
                         ::testing::Values("--mpi", "--no-mpi"),
                         [](const auto& way) {
                           return std::string(way.param) == "--mpi"
                                      ? "ByMpirun"
                                      : "ByItself";
                         });

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    lines.insert(text.substr(begin, end - begin));
  }
  return lines;
}

// A file of this test, removed afterwards.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(testing::TempDir() + "/horovodrun_test." +
              std::to_string(getpid())) {
    std::ofstream(path_, std::ios::binary) << text;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Lets mpirun start its daemons for two "hosts" on this machine. If the system
// permits it, each has its own host name.
class TwoHosts {
 public:
  TwoHosts()
      : separate_(capture({"unshare", "--uts", "true"}).text.empty()),
        agent_(std::string("#!/bin/sh\nh=$1; shift\n") +
               (separate_ ? "exec unshare --uts --fork --kill-child sh -c "
                            "\"hostname $h; $*\"\n"
                          : "exec sh -c \"$*\"\n")) {
    if (separate_) names_ = {"a", "b"};
  }

  const std::string& name(size_t host) const { return names_[host]; }
  std::map<std::string, std::string> environment() const {
    return {{"OMPI_MCA_plm_rsh_agent", agent_.path()},
            {"PRTE_MCA_plm_ssh_agent", agent_.path()}};
  }

 private:
  bool separate_;
  TemporaryFile agent_;
  Words names_ = {host_name(), host_name()};
};

// mpirun forwards 4 KiB at a time from each rank in turn.
TEST_P(HorovodrunEitherWay, KeepsLongLinesOfRanksWhole) {
  const std::string line_of_rank =
      "line=$(head -c 100000 /dev/zero | tr '\\0' "
      "$RANK_OF_JOB); for i in 1 2 3 4 5; do echo $line; "
      "echo "
      "$line >&2; done";
  TestProcess process(
      horovodrun({GetParam(), "-np", "3"}, shell(line_of_rank)));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err.substr(0, 1000);
  std::set<std::string> expected;
  for (const char rank : {'0', '1', '2'}) {
    expected.insert(std::string(100000, rank));
  }
  for (const std::string* text : {&outcome.out, &outcome.err}) {
    EXPECT_EQ(text->size(), 15u * 100001);
    EXPECT_TRUE(lines_of(*text) == expected);
  }
}

TEST(Horovodrun, LeavesOutputToMpirunThatIsAskedToDoMoreWithIt) {
  TestProcess process(
      horovodrun({"-np", "2", "--mpi-args=--tag-output"}, {"echo", "x"}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("<stdout>:x\n"));
}

TEST_P(HorovodrunEitherWay, ShowsALineThatIsNotEndedAndIsATerminalIfItsOwnIs) {
  TestProcess process(
      horovodrun({GetParam(), "-np", "1"},
                 shell("test -t 1 && printf 'name? '; printf oops >&2")));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "name? ");
  EXPECT_EQ(outcome.err, "oops");
}

TEST(Horovodrun, AddsNothingToTheOutputOfASuccess) {
  TestProcess process(horovodrun({"-np", "2"}, {HVD_MPI_PROGRAM}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(lines_of(outcome.out),
            (std::set<std::string>{"rank 0 of 2", "rank 1 of 2"}));
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(process.alive().empty());
}

TEST_P(HorovodrunEitherWay, PassesEveryByteOn) {
  std::string bytes;
  for (unsigned i = 0; i < 300000; ++i) {
    bytes.push_back(static_cast<char>((i * 7919 + i / 256) % 256));
  }
  const TemporaryFile file(bytes);
  TestProcess process(
      horovodrun({GetParam(), "-np", "1"},
                 {"sh", "-c", "cat \"$0\"; cat \"$0\" >&2", file.path()}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out == bytes);
  EXPECT_TRUE(outcome.err == bytes);
}

TEST_P(HorovodrunEitherWay, ShowsAnUnfinishedLineAtOnce) {
  TestProcess process(
      horovodrun({GetParam(), "-np", "1"},
                 shell("trap 'exit 0' USR1; printf half >&2; "
                       "while :; do sleep 1000 & wait $!; done")));
  ASSERT_TRUE(process.wait_for("half"));
  process.send(SIGUSR1);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "half");
}

TEST_P(HorovodrunEitherWay, FindsReportsInAFloodOfErrors) {
  TestProcess process(
      horovodrun({GetParam(), "-np", "3"},
                 shell("head -c 300000 /dev/zero | tr '\\0' x >&2; "
                       "exit $((RANK_OF_JOB == 2 ? 5 : 0))")));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 5);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), 'x'),
            3 * 300000 + 1);  // And the x of "exited".
  EXPECT_THAT(outcome.err, EndsWith(") exited with code 5\n"));
}

TEST(Horovodrun, GivesTheFirstFailingRanksCodeAndNamesIt) {
  TestProcess process(horovodrun({"-np", "2"}, {HVD_MPI_PROGRAM, "exit"}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(lines_of(outcome.err), testing::SizeIs(2));
  EXPECT_THAT(outcome.err, StartsWith("rank 0 survived\n"));
  EXPECT_THAT(outcome.last_line(),
              MatchesRegex("horovodrun: rank 1 on host '" + host_name() +
                           "' \\(pid [0-9]+\\) exited with code 3"));
}

TEST(Horovodrun, LetsTheOthersOutliveAKilledRank) {
  TestProcess process(horovodrun({"-np", "3"}, {HVD_MPI_PROGRAM, "kill"}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 128 + SIGKILL);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("rank 0 survived\n"),
                    HasSubstr("rank 2 survived\n"), Not(HasSubstr("PMIX"))));
  EXPECT_THAT(
      outcome.last_line(),
      MatchesRegex("horovodrun: rank 1 on host '.*' \\(pid [0-9]+\\) was "
                   "killed by signal 9 \\(Killed\\)"));
  EXPECT_TRUE(process.alive().empty());
}

TEST(Horovodrun, GivesTheCodeOfAnAbort) {
  TestProcess process(horovodrun({"-np", "2"}, {HVD_MPI_PROGRAM, "abort"}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 7);
  EXPECT_THAT(outcome.last_line(), HasSubstr("horovodrun: rank 1 on host"));
}

TEST(Horovodrun, AcceptsRanksThatLeaveWithoutFinalizing) {
  TestProcess process(horovodrun({"-np", "2"}, {HVD_MPI_PROGRAM, "leave"}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST_P(HorovodrunEitherWay, EndsSurvivorsThatDoNotEndByThemselves) {
  TestProcess process(horovodrun(
      {GetParam(), "-np", "3"},
      shell("[ $RANK_OF_JOB = 1 ] && kill -KILL $$; trap '' TERM INT; "
            "setsid sleep 1000 & sleep 1000; sleep 1000")));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 128 + SIGKILL);
  EXPECT_THAT(outcome.last_line(), HasSubstr("rank 1 on host"));
  EXPECT_TRUE(process.alive().empty());
}

TEST_P(HorovodrunEitherWay, TellsThatACommandDoesNotExist) {
  TestProcess process(
      horovodrun({GetParam(), "-np", "2"}, {"./no such program"}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 127);
  EXPECT_THAT(outcome.err,
              MatchesRegex("horovodrun: rank [01] on host '.*' cannot execute "
                           "'./no such program': No such file or directory\n"));
}

TEST(Horovodrun, RunsMoreRanksThanCores) {
  const int ranks = static_cast<int>(std::thread::hardware_concurrency()) + 2;
  TestProcess process(
      horovodrun({"-np", std::to_string(ranks)}, {HVD_MPI_PROGRAM}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(lines_of(outcome.out),
              testing::SizeIs(static_cast<size_t>(ranks)));
  EXPECT_EQ(outcome.err, "");
}

TEST_P(HorovodrunEitherWay, TellsRanksWhatItPromised) {
  TestProcess process(horovodrun(
      {GetParam(), "-np", "2"},
      shell("echo $HOROVOD_SIZE $HOROVOD_LAUNCHER ${OMP_NUM_THREADS:+set}")));
  EXPECT_EQ(lines_of(process.wait().out),
            (std::set<std::string>{"2 horovodrun set"}));
}

TEST(Horovodrun, SaysWhatItDoesWhenAsked) {
  TestProcess process(horovodrun({"-np", "1", "--verbose"}, {"true"}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("horovodrun: mpirun -np 1 "),
                                 HasSubstr("horovodrun: HOROVOD_SIZE=1\n")));
}

TEST_P(HorovodrunEitherWay, EndsEverythingAtCtrlC) {
  TestProcess process(
      horovodrun({GetParam(), "-np", "2"},
                 shell("setsid sleep 1000 & echo ready; sleep 1000; true")));
  ASSERT_TRUE(process.wait_for("ready", 2));
  process.send(SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 128 + SIGINT);
  EXPECT_EQ(outcome.err, "horovodrun: stopped by signal 2 (Interrupt)\n");
  EXPECT_TRUE(process.alive().empty());
}

// SIGKILL does not reach rank 1, as in a hung driver call.
TEST_P(HorovodrunEitherWay, EndsWithoutARankThatCannotBeEnded) {
  const FrozenGroup group;
  if (!group.exists()) GTEST_SKIP() << kNoFreezer;
  TestProcess process(
      horovodrun({GetParam(), "-np", "2"},
                 shell("[ $RANK_OF_JOB = 0 ] || { echo $$ > "
                       "$GROUP/cgroup.procs; echo FROZEN > "
                       "$GROUP/freezer.state; }; until grep -q FROZEN "
                       "$GROUP/freezer.state; do sleep 0.01; done; "
                       "echo ready; sleep 1000")),
      {{"GROUP", group.path()}});
  ASSERT_TRUE(process.wait_for("ready"));
  process.send(SIGINT);
  process.send(SIGTERM);  // No grace period needed.
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 128 + SIGINT);
  EXPECT_THAT(outcome.last_line(),
              MatchesRegex("horovodrun: stopped by signal 2 .*; process [0-9]+ "
                           "of rank 1 on host '" +
                           host_name() +
                           "' is left behind: SIGKILL does not end it, and its "
                           "thread [0-9]+ is in state D .*"));
}

TEST_P(HorovodrunEitherWay, PassesSignalsToEveryRank) {
  TestProcess process(
      horovodrun({GetParam(), "-np", "2"},
                 shell("trap 'echo checkpoint; exit 0' TERM; echo ready; "
                       "while :; do sleep 1000 & wait $!; done")));
  ASSERT_TRUE(process.wait_for("ready", 2));
  process.send(SIGTERM);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(process.wait_for("checkpoint", 2));
  EXPECT_EQ(outcome.err, "");
}

TEST_P(HorovodrunEitherWay, CarriesOnUnderNohup) {
  TestProcess process(
      {"sh", "-c", "trap '' HUP; exec \"$0\" $WAY -np 2 bash -c \"$1\"",
       HVD_HOROVODRUN,
       "trap 'exit 0' USR1; echo ready; while :; do sleep 1000 & wait $!; "
       "done"},
      {{"WAY", GetParam()}});
  ASSERT_TRUE(process.wait_for("ready", 2));
  process.send(SIGHUP);
  process.send(SIGUSR1);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST_P(HorovodrunEitherWay, LeavesNothingRunningWhenItIsKilled) {
  TestProcess process(
      horovodrun({GetParam(), "-np", "2"},
                 shell("trap '' TERM INT HUP; setsid sleep 1000 & echo ready; "
                       "while :; do sleep 1000; done")));
  ASSERT_TRUE(process.wait_for("ready", 2));
  EXPECT_GE(process.alive().size(), 8u);
  process.send(SIGKILL);
  process.wait_for_exit();
  EXPECT_TRUE(process.all_gone());
}

TEST(Horovodrun, LeavesNothingInSharedMemoryWhenItIsKilled) {
  TestProcess process(horovodrun({"-np", "2"}, {HVD_MPI_PROGRAM, "wait"}));
  ASSERT_TRUE(process.wait_for("segment ", 2));
  process.send(SIGKILL);
  const Outcome outcome = process.wait();
  EXPECT_TRUE(process.all_gone());
  for (const std::string& line : lines_of(outcome.out)) {
    EXPECT_FALSE(std::filesystem::exists(line.substr(8))) << line;
  }
}

TEST(Horovodrun, RunsOnTwoHosts) {
  const TwoHosts hosts;
  TestProcess process(
      horovodrun({"-np", "4", "-H", "a:2,b:2"},
                 shell("echo $OMPI_COMM_WORLD_RANK $(hostname) $MINE "
                       "$HOROVOD_SIZE")),
      [&] {
        auto environment = hosts.environment();
        environment["MINE"] = "mine";
        return environment;
      }());
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(
      lines_of(outcome.out),
      (std::set<std::string>{
          "0 " + hosts.name(0) + " mine 4", "1 " + hosts.name(0) + " mine 4",
          "2 " + hosts.name(1) + " mine 4", "3 " + hosts.name(1) + " mine 4"}));
  EXPECT_EQ(outcome.err, "");
}

TEST(Horovodrun, NamesTheHostOfAFailure) {
  const TwoHosts hosts;
  TestProcess process(
      horovodrun({"-np", "2", "-H", "a:1,b:1"}, {HVD_MPI_PROGRAM, "kill"}),
      hosts.environment());
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 128 + SIGKILL);
  EXPECT_THAT(outcome.err, StartsWith("rank 0 survived\nhorovodrun: "));
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("rank 1 on host '" + hosts.name(1) + "'"));
  EXPECT_TRUE(process.alive().empty());
}

TEST(Horovodrun, PassesSignalsToOtherHosts) {
  const TwoHosts hosts;
  TestProcess process(
      horovodrun({"-np", "2", "-H", "a:1,b:1"},
                 shell("trap 'echo stopped; exit 0' INT; echo ready; "
                       "while :; do sleep 1000 & wait $!; done")),
      hosts.environment());
  ASSERT_TRUE(process.wait_for("ready", 2));
  process.send(SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(process.wait_for("stopped", 2));
  EXPECT_EQ(outcome.err, "");
}

TEST(Horovodrun, GivesUpOnAHostThatDoesNotAnswer) {
  const TemporaryFile agent("#!/bin/sh\nexec sleep 1000\n");
  TestProcess process(
      horovodrun({"-np", "2", "-H", "a:1,b:1", "--start-timeout", "1"},
                 {"true"}),
      {{"OMPI_MCA_plm_rsh_agent", agent.path()},
       {"PRTE_MCA_plm_ssh_agent", agent.path()}});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("ranks 0, 1 (host 'a', 'b') did not start within 1 s"));
  EXPECT_TRUE(process.alive().empty());
}

TEST(Horovodrun, NamesAHostThatCannotBeReached) {
  const TemporaryFile agent(
      "#!/bin/sh\n[ $1 = a ] && exec sleep 1000\nexit 255\n");
  TestProcess process(horovodrun({"-np", "2", "-H", "a:1,b:1"}, {"true"}),
                      {{"OMPI_MCA_plm_rsh_agent", agent.path()},
                       {"PRTE_MCA_plm_ssh_agent", agent.path()}});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("host 'b' cannot be reached for rank 1"));
  EXPECT_TRUE(process.alive().empty());
}

TEST(Horovodrun, NamesTheHostWhoseSshWasKilled) {
  const TemporaryFile agent(
      "#!/bin/sh\n[ $1 = a ] && exec sleep 1000\nkill -KILL $$\n");
  TestProcess process(horovodrun({"-np", "2", "-H", "a:1,b:1"}, {"true"}),
                      {{"OMPI_MCA_plm_rsh_agent", agent.path()},
                       {"PRTE_MCA_plm_ssh_agent", agent.path()}});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("host 'b' cannot be reached for rank 1: the ssh "
                        "connection to it ended by signal 9 (Killed)"));
  EXPECT_TRUE(process.alive().empty());
}

TEST(Horovodrun, ReachesAHostByItsFullName) {
  const TemporaryFile agent("#!/bin/sh\necho \"asked for $1\" >&2\nexit 255\n");
  TestProcess process(horovodrun({"-np", "2", "-H", "c.invalid:2"}, {"true"}),
                      {{"OMPI_MCA_plm_rsh_agent", agent.path()},
                       {"PRTE_MCA_plm_ssh_agent", agent.path()}});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("asked for c.invalid\n"));
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("host 'c.invalid' cannot be reached for ranks 0, 1"));
}

TEST(Horovodrun, StartsAJobFromARankOfAnother) {
  TestProcess process(
      horovodrun({"-np", "2"}, {HVD_HOROVODRUN, "-np", "2", HVD_MPI_PROGRAM}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(lines_of(outcome.out),
            (std::set<std::string>{"rank 0 of 2", "rank 1 of 2"}));
  EXPECT_EQ(outcome.err, "");
}

TEST_P(HorovodrunEitherWay, FailsIfOutputIsLost) {
  TestProcess process({"sh", "-c", "exec \"$0\" $WAY -np 1 echo hi > /dev/full",
                       HVD_HOROVODRUN},
                      {{"WAY", GetParam()}});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("cannot write to standard output: No space left"));
}

// bash counts KiB: more than MPI writes, less than the rank writes.
TEST_P(HorovodrunEitherWay, FailsIfALimitOnFilesCutsItsOutputOff) {
  const TemporaryFile file("");
  TestProcess process(
      {"bash", "-c",
       "ulimit -f 16384; exec \"$0\" $WAY -np 1 sh -c 'yes | head "
       "-c 20000000' > \"$1\"",
       HVD_HOROVODRUN, file.path()},
      {{"WAY", GetParam()}});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("cannot write to standard output: File too large"));
}

// Open MPI's server writes more than the limit for its ranks, and passes on the
// signal it gets. The ranks must fail with their own error.
TEST(Horovodrun, KeepsTheSignalOfALimitOnFilesFromRanks) {
  TestProcess process({"bash", "-c", "ulimit -f 2000; exec \"$0\" -np 2 \"$1\"",
                       HVD_HOROVODRUN, HVD_MPI_PROGRAM});
  EXPECT_THAT(process.wait().err, Not(HasSubstr("killed by signal")));
}

TEST_P(HorovodrunEitherWay, RunsWithoutStandardStreams) {
  TestProcess process(
      {"sh", "-c", "\"$0\" $WAY -np 1 sh -c 'exit 7' <&- >&- 2>&-; echo $?",
       HVD_HOROVODRUN},
      {{"WAY", GetParam()}});
  EXPECT_EQ(process.wait().out, "7\n");
}

TEST_P(HorovodrunEitherWay, TellsNobodyTheTokenOfTheReports) {
  TestProcess process(horovodrun({GetParam(), "-np", "1"},
                                 shell("printenv HOROVODRUN_TOKEN | wc -l; cat "
                                       "/proc/$PPID/cmdline | tr '\\0' '\\n' | "
                                       "grep -cE '^[0-9a-f]{32}$'; true")));
  EXPECT_EQ(process.wait().out, "0\n0\n");
}

TEST(Horovodrun, TellsThatMpirunFailedBeforeAnyRank) {
  TestProcess process(
      horovodrun({"-np", "1", "--mpi-args", "--no-such-option"}, {"true"}));
  const Outcome outcome = process.wait();
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.last_line(),
              MatchesRegex("horovodrun: mpirun ended with code [0-9]+ before "
                           "rank 0 had started"));
  EXPECT_GT(lines_of(outcome.err).size(), 1u);
}

TEST(Horovodrun, NamesAPackageIfThereIsNoMpirun) {
  TestProcess process(horovodrun({"--mpi", "-np", "1"}, {"true"}),
                      {{"PATH", "/nonexistent"}});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("openmpi-bin"));
}

// Without mpirun.

TEST(HorovodrunByItself, TellsRanksWhoTheyAre) {
  TestProcess process(
      horovodrun({"--no-mpi", "-np", "2"},
                 shell("echo $HOROVOD_RANK $HOROVOD_LOCAL_RANK $HOROVOD_SIZE "
                       "$HOROVOD_LOCAL_SIZE ${HOROVODPP_RENDEZVOUS:+meets}")));
  EXPECT_EQ(lines_of(process.wait().out),
            (std::set<std::string>{"0 0 2 2 meets", "1 1 2 2 meets"}));
}

TEST(HorovodrunByItself, GivesTheFirstRankItsInputAndOthersNone) {
  const TemporaryFile file("typed\n");
  TestProcess process({"sh", "-c", "exec \"$0\" --no-mpi -np 2 cat < \"$1\"",
                       HVD_HOROVODRUN, file.path()});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "typed\n");
}

TEST(HorovodrunByItself, IsUsedWhereThereIsNoMpirun) {
  TestProcess process({"sh", "-c",
                       "PATH=/nowhere exec \"$0\" -np 2 /bin/echo x",
                       HVD_HOROVODRUN});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "x\nx\n");
}

TEST(HorovodrunByItself, SaysWhatOnlyMpirunCanDo) {
  for (const Words& options :
       {Words{"-H", "elsewhere:2"}, Words{"--mpi-args=--tag-output"},
        Words{"--network-interface", "lo"}}) {
    Words all = {"--no-mpi", "-np", "2"};
    all.insert(all.end(), options.begin(), options.end());
    TestProcess process(horovodrun(all, {"true"}));
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.code, 2) << options[0];
    EXPECT_THAT(outcome.err, HasSubstr("leave it out, or start the ranks by "
                                       "mpirun (--mpi)"));
  }
  TestProcess process(horovodrun({"--no-mpi", "--mpi", "-np", "2"}, {"true"}));
  EXPECT_EQ(process.wait().code, 2);
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(HorovodrunByItself, WritesWhatEachRankWritesToFilesToo) {
  const TemporaryFile file("");
  const std::filesystem::path folder = file.path() + ".logs/today";
  TestProcess process(horovodrun(
      {"--no-mpi", "-np", "11", "--output-filename", folder.string()},
      shell("echo I am $HOROVOD_RANK; echo alas >&2; printf unfinished")));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("I am 10\n"));
  EXPECT_THAT(outcome.err, HasSubstr("alas\n"));
  EXPECT_EQ(contents(folder / "rank.00/stdout"), "I am 0\nunfinished");
  EXPECT_EQ(contents(folder / "rank.10/stdout"), "I am 10\nunfinished");
  EXPECT_EQ(contents(folder / "rank.10/stderr"), "alas\n");
  std::filesystem::remove_all(folder.parent_path());
}

TEST(HorovodrunByItself, FailsIfTheFilesOfARankCannotBe) {
  const TemporaryFile file("");
  TestProcess process(horovodrun(
      {"--no-mpi", "-np", "1", "--output-filename", file.path()}, {"true"}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("cannot make " + file.path() + "/rank.0: Not a dir"));
}

TEST(Horovodrun, FailsAtOnceIfTheFolderOfItsOutputCannotBe) {
  const TemporaryFile file("");
  TestProcess process(
      horovodrun({"--mpi", "-np", "1", "--output-filename", file.path()},
                 {"echo", "started"}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("cannot make " + file.path() + ": Not a directory"));
}

TEST(HorovodrunByItself, FailsIfWhatItWritesToAFileIsLost) {
  const TemporaryFile file("");
  const std::filesystem::path folder = file.path() + ".logs";
  std::filesystem::create_directories(folder / "rank.0");
  std::filesystem::create_symlink("/dev/full", folder / "rank.0/stderr");
  TestProcess process(
      horovodrun({"--no-mpi", "-np", "1", "--output-filename", folder.string()},
                 shell("echo lost >&2; echo kept")));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "kept\n");
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("rank.0/stderr: No space left on device"));
  EXPECT_EQ(contents(folder / "rank.0/stdout"), "kept\n");
  std::filesystem::remove_all(folder);
}

TEST(HorovodrunByItself, StartsAJobWithinARank) {
  TestProcess process(horovodrun({"--no-mpi", "-np", "2"},
                                 {HVD_HOROVODRUN, "--no-mpi", "-np", "2", "sh",
                                  "-c", "echo $HOROVOD_RANK"}));
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.size(), 8u);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '1'), 2);
}

TEST(HorovodrunByItself, TellsThatItsStarterWasKilled) {
  TestProcess process(
      horovodrun({"--no-mpi", "-np", "2"}, shell("echo ready; sleep 1000")));
  ASSERT_TRUE(process.wait_for("ready", 2));
  TestProcess killer({"pkill", "-KILL", "-P", std::to_string(process.pid()),
                      "-f", "start-ranks"});
  EXPECT_EQ(killer.wait().code, 0);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 128 + SIGKILL);
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("the process that starts the ranks was killed by "
                        "signal 9"));
  EXPECT_TRUE(process.alive().empty());
}

}  // namespace
}  // namespace hvd::launcher
