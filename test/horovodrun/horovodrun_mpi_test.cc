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
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "horovodpp/core/job/host_name.h"
#include "horovodrun/system/process.h"
#include "test/horovodrun/frozen_group.h"
#include "test/horovodrun/test_process.h"

namespace hvd::launcher {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
using Lines = std::set<std::string>;
using Variables = std::map<std::string, std::string>;
using Words = std::vector<std::string>;

// Waits for SIGUSR1, or another signal that the script traps.
constexpr char kWait[] = "while :; do sleep 1000 & wait $!; done";

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

// The outcome of a program that leaves no process behind.
Outcome run(const Words& argv, const Variables& variables = {}) {
  TestProcess process(argv, variables);
  const Outcome outcome = process.wait();
  EXPECT_TRUE(process.alive().empty());
  return outcome;
}

void expect(const Outcome& outcome, int code, const std::string& out,
            const std::string& err) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_EQ(outcome.out, out);
  EXPECT_EQ(outcome.err, err);
}

Lines lines_of(const std::string& text) {
  Lines lines;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    lines.insert(text.substr(begin, end - begin));
  }
  return lines;
}

// Holds whether mpirun or horovodrun itself starts the ranks.
class HorovodrunEitherWay : public ::testing::TestWithParam<const char*> {
 protected:
  static Words argv(int ranks, const Words& command) {
    return horovodrun({GetParam(), "-np", std::to_string(ranks)}, command);
  }
  // Runs the shell's `script`, in which $RUN is horovodrun with GetParam().
  static Outcome run_from_shell(const std::string& script,
                                const std::string& argument = "") {
    return run({"bash", "-c", script, "bash", argument},
               {{"RUN", std::string(HVD_HOROVODRUN) + " " + GetParam()}});
  }
};

INSTANTIATE_TEST_SUITE_P(, HorovodrunEitherWay,
                         ::testing::Values("--mpi", "--no-mpi"),
                         [](const auto& way) {
                           return std::string(way.param) == "--mpi"
                                      ? "ByMpirun"
                                      : "ByItself";
                         });

// A file of this test, removed afterwards with files whose names begin like it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text = "")
      : path_(testing::TempDir() + "/horovodrun_test." +
              std::to_string(getpid())) {
    std::ofstream(path_, std::ios::binary) << text;
    fs::permissions(path_, fs::perms::owner_all);
  }
  ~TemporaryFile() {
    fs::remove(path_);
    fs::remove_all(logs());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  fs::path logs() const { return path_ + ".logs"; }

 private:
  std::string path_;
};

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Reaches hosts by `script`, whose first argument is the host.
class RemoteShell {
 public:
  explicit RemoteShell(const std::string& script)
      : agent_("#!/bin/sh\n" + script + "\n") {}
  Variables variables() const {
    return {{"OMPI_MCA_plm_rsh_agent", agent_.path()},
            {"PRTE_MCA_plm_ssh_agent", agent_.path()}};
  }

 private:
  TemporaryFile agent_;
};

// Lets mpirun start its daemons for the hosts "a" and "b" on this machine. If
// the system permits it, each has its own host name.
class TwoHosts {
 public:
  TwoHosts()
      : separate_(capture({"unshare", "--uts", "true"}).text.empty()),
        shell_(separate_ ? "h=$1; shift; exec unshare --uts --fork "
                           "--kill-child sh -c \"hostname $h; $*\""
                         : "shift; exec sh -c \"$*\"") {}

  std::string name(size_t host) const {
    return separate_ ? std::string(1, "ab"[host]) : host_name();
  }
  Variables variables() const { return shell_.variables(); }

 private:
  bool separate_;
  RemoteShell shell_;
};

// Output.

// mpirun forwards 4 KiB at a time from each rank in turn.
TEST_P(HorovodrunEitherWay, KeepsLongLinesOfRanksWhole) {
  const Outcome outcome =
      run(argv(3, shell("line=$(head -c 100000 /dev/zero | tr '\\0' "
                        "$RANK_OF_JOB); for i in 1 2 3 4 5; do echo $line; "
                        "echo $line >&2; done")));
  EXPECT_EQ(outcome.code, 0) << outcome.err.substr(0, 1000);
  Lines expected;
  for (const char rank : {'0', '1', '2'}) {
    expected.insert(std::string(100000, rank));
  }
  for (const std::string* text : {&outcome.out, &outcome.err}) {
    EXPECT_EQ(text->size(), 15u * 100001);
    EXPECT_TRUE(lines_of(*text) == expected);
  }
}

TEST(Horovodrun, LeavesOutputToMpirunIfOptionsAskForIt) {
  const Outcome outcome =
      run(horovodrun({"-np", "2", "--mpi-args=--tag-output"}, {"echo", "x"}));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("<stdout>:x\n"));
}

TEST_P(HorovodrunEitherWay, ShowsAnUnfinishedLastLineAndGivesATerminal) {
  expect(run(argv(1, shell("test -t 1 && printf 'name? '; printf oops >&2"))),
         0, "name? ", "oops");
}

TEST(Horovodrun, AddsNoOutputToASuccess) {
  // The second job has more ranks than the machine has cores.
  for (const unsigned ranks : {2u, std::thread::hardware_concurrency() + 2}) {
    const Outcome outcome =
        run(horovodrun({"-np", std::to_string(ranks)}, {HVD_MPI_PROGRAM}));
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.err, "");
    Lines expected;
    for (unsigned rank = 0; rank < ranks; ++rank) {
      expected.insert("rank " + std::to_string(rank) + " of " +
                      std::to_string(ranks));
    }
    EXPECT_EQ(lines_of(outcome.out), expected);
  }
}

TEST_P(HorovodrunEitherWay, PassesEveryByteOn) {
  std::string bytes;
  for (unsigned i = 0; i < 300000; ++i) {
    bytes.push_back(static_cast<char>((i * 7919 + i / 256) % 256));
  }
  const TemporaryFile file(bytes);
  const Outcome outcome =
      run(argv(1, {"sh", "-c", "cat \"$0\"; cat \"$0\" >&2", file.path()}));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out == bytes);
  EXPECT_TRUE(outcome.err == bytes);
}

TEST_P(HorovodrunEitherWay, ShowsAnUnfinishedLineAtOnce) {
  TestProcess process(argv(
      1, shell(std::string("trap 'exit 0' USR1; printf half >&2; ") + kWait)));
  ASSERT_TRUE(process.wait_for("half"));
  expect(process.wait_sending(SIGUSR1), 0, "", "half");
}

TEST_P(HorovodrunEitherWay, FindsReportsInAFloodOfErrors) {
  const Outcome outcome =
      run(argv(3, shell("head -c 300000 /dev/zero | tr '\\0' x >&2; "
                        "exit $((RANK_OF_JOB == 2 ? 5 : 0))")));
  EXPECT_EQ(outcome.code, 5);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), 'x'),
            3 * 300000 + 1);  // And the x of "exited".
  EXPECT_THAT(outcome.err, EndsWith(") exited with code 5\n"));
}

TEST_P(HorovodrunEitherWay, FailsIfOutputIsLost) {
  const Outcome outcome = run_from_shell("exec $RUN -np 1 echo hi > /dev/full");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("cannot write to standard output: No space left"));
}

// bash counts KiB: more than MPI writes, less than the rank writes.
TEST_P(HorovodrunEitherWay, FailsIfALimitOnFilesCutsItsOutputOff) {
  const TemporaryFile file;
  const Outcome outcome = run_from_shell(
      "ulimit -f 16384; exec $RUN -np 1 sh -c 'yes | head -c 20000000' > "
      "\"$1\"",
      file.path());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("cannot write to standard output: File too large"));
}

// Open MPI's server writes more than the limit for its ranks, and passes on the
// signal it gets. The ranks must fail with their own error.
TEST(Horovodrun, KeepsTheSignalOfALimitOnFilesFromRanks) {
  const Outcome outcome =
      run({"bash", "-c", "ulimit -f 2000; exec \"$0\" -np 2 \"$1\"",
           HVD_HOROVODRUN, HVD_MPI_PROGRAM});
  EXPECT_THAT(outcome.err, Not(HasSubstr("killed by signal")));
}

TEST_P(HorovodrunEitherWay, RunsWithoutStandardStreams) {
  EXPECT_EQ(
      run_from_shell("$RUN -np 1 sh -c 'exit 7' <&- >&- 2>&-; echo $?").out,
      "7\n");
}

// Ends.

TEST(Horovodrun, NamesTheFirstFailingRankAndReturnsItsCode) {
  const Outcome outcome =
      run(horovodrun({"-np", "2"}, {HVD_MPI_PROGRAM, "exit"}));
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(
      outcome.err,
      MatchesRegex("rank 0 survived\nhorovodrun: rank 1 on host '" +
                   host_name() + "' \\(pid [0-9]+\\) exited with code 3\n"));
}

TEST(Horovodrun, LetsTheOthersOutliveAKilledRank) {
  const Outcome outcome =
      run(horovodrun({"-np", "3"}, {HVD_MPI_PROGRAM, "kill"}));
  EXPECT_EQ(outcome.code, 128 + SIGKILL);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("rank 0 survived\n"),
                    HasSubstr("rank 2 survived\n"), Not(HasSubstr("PMIX"))));
  EXPECT_THAT(
      outcome.last_line(),
      MatchesRegex("horovodrun: rank 1 on host '.*' \\(pid [0-9]+\\) was "
                   "killed by signal 9 \\(Killed\\)"));
}

TEST(Horovodrun, ReturnsTheCodeOfAnAbort) {
  const Outcome outcome =
      run(horovodrun({"-np", "2"}, {HVD_MPI_PROGRAM, "abort"}));
  EXPECT_EQ(outcome.code, 7);
  EXPECT_THAT(outcome.last_line(), HasSubstr("horovodrun: rank 1 on host"));
}

TEST(Horovodrun, AcceptsRanksThatLeaveWithoutFinalizing) {
  expect(run(horovodrun({"-np", "2"}, {HVD_MPI_PROGRAM, "leave"})), 0, "", "");
}

TEST_P(HorovodrunEitherWay, EndsSurvivorsThatDoNotEndByThemselves) {
  const Outcome outcome =
      run(argv(3, shell("[ $RANK_OF_JOB = 1 ] && kill -KILL $$; "
                        "trap '' TERM INT; setsid sleep 1000 & sleep 1000; "
                        "sleep 1000")));
  EXPECT_EQ(outcome.code, 128 + SIGKILL);
  EXPECT_THAT(outcome.last_line(), HasSubstr("rank 1 on host"));
}

TEST_P(HorovodrunEitherWay, NamesACommandThatDoesNotExist) {
  const Outcome outcome = run(argv(2, {"./no such program"}));
  EXPECT_EQ(outcome.code, 127);
  EXPECT_THAT(outcome.err,
              MatchesRegex("horovodrun: rank [01] on host '.*' cannot execute "
                           "'./no such program': No such file or directory\n"));
}

TEST_P(HorovodrunEitherWay, GivesRanksTheirVariablesButNotTheToken) {
  EXPECT_EQ(lines_of(run(argv(2, shell("echo $HOROVOD_SIZE $HOROVOD_LAUNCHER "
                                       "${OMP_NUM_THREADS:+set} "
                                       "$(printenv HOROVODRUN_TOKEN | wc -l) "
                                       "$(tr '\\0' '\\n' < "
                                       "/proc/$PPID/cmdline | "
                                       "grep -cE '^[0-9a-f]{32}$')")))
                         .out),
            Lines{"2 horovodrun set 0 0"});
}

TEST(Horovodrun, ShowsItsCommandIfAsked) {
  const Outcome outcome = run(horovodrun({"-np", "1", "--verbose"}, {"true"}));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("horovodrun: mpirun -np 1 "),
                                 HasSubstr("horovodrun: HOROVOD_SIZE=1\n")));
}

TEST(Horovodrun, ReportsThatMpirunFailedBeforeAnyRank) {
  const Outcome outcome =
      run(horovodrun({"-np", "1", "--mpi-args", "--no-such-option"}, {"true"}));
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.last_line(),
              MatchesRegex("horovodrun: mpirun ended with code [0-9]+ before "
                           "rank 0 had started"));
  EXPECT_GT(lines_of(outcome.err).size(), 1u);
}

TEST(Horovodrun, NamesAPackageWithoutMpirun) {
  const Outcome outcome = run(horovodrun({"--mpi", "-np", "1"}, {"true"}),
                              {{"PATH", "/nonexistent"}});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("openmpi-bin"));
}

TEST(Horovodrun, StartsAJobFromARankOfAnother) {
  const Outcome outcome = run(
      horovodrun({"-np", "2"}, {HVD_HOROVODRUN, "-np", "2", HVD_MPI_PROGRAM}));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(lines_of(outcome.out), (Lines{"rank 0 of 2", "rank 1 of 2"}));
  EXPECT_EQ(outcome.err, "");
}

// Signals.

TEST_P(HorovodrunEitherWay, EndsAllProcessesAtCtrlC) {
  TestProcess process(
      argv(2, shell("setsid sleep 1000 & echo ready; sleep 1000; true")));
  ASSERT_TRUE(process.wait_for("ready", 2));
  process.send(SIGINT);
  expect(process.wait(), 128 + SIGINT, "ready\nready\n",
         "horovodrun: stopped by signal 2 (Interrupt)\n");
  EXPECT_TRUE(process.alive().empty());
}

// SIGKILL does not reach rank 1, as in a hung driver call.
TEST_P(HorovodrunEitherWay, EndsDespiteAnUnkillableRank) {
  const FrozenGroup group;
  if (!group.exists()) GTEST_SKIP() << kNoFreezer;
  TestProcess process(
      argv(2, shell("[ $RANK_OF_JOB = 0 ] || { echo $$ > "
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
  TestProcess process(argv(
      2,
      shell(std::string("trap 'echo checkpoint; exit 0' TERM; echo ready; ") +
            kWait)));
  ASSERT_TRUE(process.wait_for("ready", 2));
  process.send(SIGTERM);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(process.wait_for("checkpoint", 2));
  EXPECT_EQ(outcome.err, "");
}

TEST_P(HorovodrunEitherWay, GoesOnUnderNohup) {
  TestProcess process(
      {"sh", "-c", "trap '' HUP; exec \"$0\" $WAY -np 2 bash -c \"$1\"",
       HVD_HOROVODRUN, std::string("trap 'exit 0' USR1; echo ready; ") + kWait},
      {{"WAY", GetParam()}});
  ASSERT_TRUE(process.wait_for("ready", 2));
  process.send(SIGHUP);
  expect(process.wait_sending(SIGUSR1), 0, "ready\nready\n", "");
}

TEST_P(HorovodrunEitherWay, LeavesNoProcessRunningIfKilled) {
  TestProcess process(
      argv(2, shell("trap '' TERM INT HUP; setsid sleep 1000 & echo ready; "
                    "while :; do sleep 1000; done")));
  ASSERT_TRUE(process.wait_for("ready", 2));
  EXPECT_GE(process.alive().size(), 8u);
  process.send(SIGKILL);
  process.wait_for_exit();
  EXPECT_TRUE(process.all_gone());
}

TEST(Horovodrun, LeavesNoSharedMemoryIfKilled) {
  TestProcess process(horovodrun({"-np", "2"}, {HVD_MPI_PROGRAM, "wait"}));
  ASSERT_TRUE(process.wait_for("segment ", 2));
  process.send(SIGKILL);
  const Outcome outcome = process.wait();
  EXPECT_TRUE(process.all_gone());
  for (const std::string& line : lines_of(outcome.out)) {
    EXPECT_FALSE(fs::exists(line.substr(8))) << line;
  }
}

// Several hosts.

TEST(Horovodrun, RunsOnTwoHosts) {
  const TwoHosts hosts;
  Variables variables = hosts.variables();
  variables["MINE"] = "mine";
  const Outcome outcome =
      run(horovodrun({"-np", "4", "-H", "a:2,b:2"},
                     shell("echo $OMPI_COMM_WORLD_RANK $(hostname) $MINE "
                           "$HOROVOD_SIZE")),
          variables);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(lines_of(outcome.out), (Lines{"0 " + hosts.name(0) + " mine 4",
                                          "1 " + hosts.name(0) + " mine 4",
                                          "2 " + hosts.name(1) + " mine 4",
                                          "3 " + hosts.name(1) + " mine 4"}));
}

TEST(Horovodrun, NamesTheHostOfAFailure) {
  const TwoHosts hosts;
  const Outcome outcome =
      run(horovodrun({"-np", "2", "-H", "a:1,b:1"}, {HVD_MPI_PROGRAM, "kill"}),
          hosts.variables());
  EXPECT_EQ(outcome.code, 128 + SIGKILL);
  EXPECT_THAT(outcome.err, StartsWith("rank 0 survived\nhorovodrun: "));
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("rank 1 on host '" + hosts.name(1) + "'"));
}

TEST(Horovodrun, PassesSignalsToOtherHosts) {
  const TwoHosts hosts;
  TestProcess process(
      horovodrun(
          {"-np", "2", "-H", "a:1,b:1"},
          shell(std::string("trap 'echo stopped; exit 0' INT; echo ready; ") +
                kWait)),
      hosts.variables());
  ASSERT_TRUE(process.wait_for("ready", 2));
  process.send(SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(process.wait_for("stopped", 2));
  EXPECT_EQ(outcome.err, "");
}

TEST(Horovodrun, NamesUnusableHosts) {
  // Lets the preflight pass.
  const std::string passes =
      "case \"$*\" in *--describe-host*) shift; exec sh -c \"$*\";; esac; ";
  struct Case {
    std::string shell;
    Words options;
    const char* line;
  };
  const std::vector<Case> cases = {
      {passes + "exec sleep 1000",
       {"-H", "a:1,b:1", "--start-timeout", "1"},
       "ranks 0, 1 (host 'a', 'b') did not start within 1 s"},
      {passes + "[ $1 = a ] && exec sleep 1000; exit 255",
       {"-H", "a:1,b:1"},
       "host 'b' cannot be reached for rank 1"},
      {passes + "[ $1 = a ] && exec sleep 1000; kill -KILL $$",
       {"-H", "a:1,b:1"},
       "host 'b' cannot be reached for rank 1: the ssh connection to it ended "
       "by signal 9 (Killed)"},
      // By its full name.
      {passes + "[ $1 = c.invalid ] && exit 255; exec sleep 1000",
       {"-H", "c.invalid:2"},
       "host 'c.invalid' cannot be reached for ranks 0, 1"},
      // By the preflight.
      {"exec sleep 1000",
       {"-H", "a:1,b:1", "--start-timeout", "1"},
       "host 'a' did not answer within 1 s"},
      {"[ $1 = a ] && exec sleep 1000; exit 255",
       {"-H", "a:1,b:1"},
       "horovodrun: host 'b' cannot be used: "},
      {"[ $1 = a ] && exec sleep 1000; kill -KILL $$",
       {"-H", "a:1,b:1"},
       "was killed by signal 9 (Killed)"}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.line);
    Words options = {"-np", "2"};
    options.insert(options.end(), one.options.begin(), one.options.end());
    const RemoteShell shell(one.shell);
    const Outcome outcome =
        run(horovodrun(options, {"true"}), shell.variables());
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.last_line(), HasSubstr(one.line));
  }
}

// Without mpirun.

TEST(HorovodrunByItself, GivesRanksTheirPlace) {
  EXPECT_EQ(
      lines_of(
          run(horovodrun(
                  {"--no-mpi", "-np", "2"},
                  shell("echo $HOROVOD_RANK $HOROVOD_LOCAL_RANK $HOROVOD_SIZE "
                        "$HOROVOD_LOCAL_SIZE ${HOROVODPP_RENDEZVOUS:+meets}")))
              .out),
      (Lines{"0 0 2 2 meets", "1 1 2 2 meets"}));
}

TEST(HorovodrunByItself, GivesItsInputToRank0Only) {
  const TemporaryFile file("typed\n");
  expect(run({"sh", "-c", "exec \"$0\" --no-mpi -np 2 cat < \"$1\"",
              HVD_HOROVODRUN, file.path()}),
         0, "typed\n", "");
}

TEST(HorovodrunByItself, IsUsedWithoutMpirun) {
  expect(run({"sh", "-c", "PATH=/nowhere exec \"$0\" -np 2 /bin/echo x",
              HVD_HOROVODRUN}),
         0, "x\nx\n", "");
}

TEST(HorovodrunByItself, RefusesOptionsOfMpirun) {
  const Outcome outcome =
      run(horovodrun({"--no-mpi", "-np", "2", "--mpi-args=-v"}, {"true"}));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("leave it out, or start the ranks by "
                                     "mpirun (--mpi)"));
}

TEST_P(HorovodrunEitherWay, WritesTheOutputOfEachRankToFilesToo) {
  const TemporaryFile file;
  const fs::path folder = file.logs() / "today";
  const Outcome outcome = run(horovodrun(
      {GetParam(), "-np", "11", "--output-filename", folder.string()},
      shell("echo I am $RANK_OF_JOB; echo alas >&2; printf unfinished")));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("I am 10\n"));
  EXPECT_THAT(outcome.err, HasSubstr("alas\n"));
  EXPECT_EQ(contents(folder / "rank.00/stdout"), "I am 0\nunfinished");
  EXPECT_EQ(contents(folder / "rank.10/stdout"), "I am 10\nunfinished");
  EXPECT_EQ(contents(folder / "rank.10/stderr"), "alas\n");
}

TEST_P(HorovodrunEitherWay, FailsAtOnceIfFilesForOutputCannotBeMade) {
  const TemporaryFile file;
  const Outcome outcome =
      run(horovodrun({GetParam(), "-np", "1", "--output-filename", file.path()},
                     {"echo", "started"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.last_line(),
              MatchesRegex(".*cannot make " + file.path() + ": Not a dir.*"));
}

TEST_P(HorovodrunEitherWay, FailsIfOutputForAFileIsLost) {
  const TemporaryFile file;
  const fs::path folder = file.logs() / "rank.0";
  fs::create_directories(folder);
  fs::create_symlink("/dev/full", folder / "stderr");
  const Outcome outcome = run(horovodrun(
      {GetParam(), "-np", "1", "--output-filename", file.logs().string()},
      shell("echo lost >&2; echo kept")));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "kept\n");
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("rank.0/stderr: No space left on device"));
  EXPECT_EQ(contents(folder / "stdout"), "kept\n");
}

TEST(HorovodrunByItself, StartsAJobWithinARank) {
  const Outcome outcome = run(horovodrun(
      {"--no-mpi", "-np", "2"}, {HVD_HOROVODRUN, "--no-mpi", "-np", "2", "sh",
                                 "-c", "echo $HOROVOD_RANK"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.size(), 8u);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '1'), 2);
}

// Options.

TEST_P(HorovodrunEitherWay, SetsVariablesThatOverrideInheritedOnes) {
  const TemporaryFile config(
      "params: {cache_capacity: 7, cycle_time_ms: 3}\n"
      "logging: {level: debug}\n");
  Words options = {GetParam(),    "-np",
                   "2",           "--config-file",
                   config.path(), "--cycle-time-ms",
                   "0.5",         "--no-stall-check"};
  const Outcome outcome = run(
      horovodrun(options, shell("echo $HOROVOD_CYCLE_TIME "
                                "$HOROVOD_CACHE_CAPACITY $HOROVOD_LOG_LEVEL "
                                "$HOROVOD_STALL_CHECK_DISABLE "
                                "$HOROVOD_FUSION_THRESHOLD")),
      {{"HOROVOD_CYCLE_TIME", "9"},
       {"HOROVOD_CACHE_CAPACITY", "9"},
       {"HOROVOD_FUSION_THRESHOLD", "9"}});
  expect(outcome, 0, "0.5 7 debug 1 9\n0.5 7 debug 1 9\n", "");
}

TEST_P(HorovodrunEitherWay, SaysWhichOptionHasNoEffect) {
  expect(
      run(horovodrun({GetParam(), "-np", "1", "--tee", "3"}, {"echo", "done"})),
      0, "done\n",
      "horovodrun: --tee has no effect: output is always shown, and "
      "--log-dir writes all of it; --redirects hides streams\n");
}

TEST_P(HorovodrunEitherWay, ShowsTheOutputOfSomeRanks) {
  const Outcome outcome =
      run(horovodrun({GetParam(), "-np", "3", "--local-ranks-filter", "0,2"},
                     shell("echo out $RANK_OF_JOB; echo err $RANK_OF_JOB >&2; "
                           "env | grep -c ^HOROVODRUN_SHOWN")));
  EXPECT_EQ(lines_of(outcome.out), (Lines{"out 0", "out 2", "0"}));
  EXPECT_EQ(outcome.code, 1);  // grep's.
  EXPECT_THAT(outcome.err,
              AllOf(StartsWith("err "), HasSubstr("err 0\n"),
                    HasSubstr("err 2\n"), Not(HasSubstr("\nerr 1\n"))));
}

TEST_P(HorovodrunEitherWay, BeginsLinesWithTheRank) {
  expect(run(horovodrun({GetParam(), "-np", "1", "--tag-output"},
                        shell("printf 'a\\nb\\n'; echo c >&2"))),
         0, "[0]<stdout>:a\n[0]<stdout>:b\n", "[0]<stderr>:c\n");
}

TEST_P(HorovodrunEitherWay, LimitsTheFilesOfEachRank) {
  const TemporaryFile file;
  const fs::path folder = file.logs() / "rank.0";
  const Outcome outcome =
      run(horovodrun({GetParam(), "-np", "1", "--log-dir", file.logs().string(),
                      "--log-max-size", "1K", "--log-files", "2"},
                     {"seq", "1000", "1999"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.size(), 5000u);
  EXPECT_EQ(contents(folder / "stdout.1") + contents(folder / "stdout"),
            outcome.out.substr(outcome.out.size() -
                               contents(folder / "stdout").size() - 1020));
  EXPECT_EQ(contents(folder / "stdout.1").size(), 1020u);
  EXPECT_FALSE(fs::exists(folder / "stdout.2"));
}

TEST_P(HorovodrunEitherWay, RepeatsTheLastLinesOfTheCauseBelowThoseOfOthers) {
  const TemporaryFile file;
  const Outcome outcome =
      run(horovodrun({GetParam(), "-np", "2"},
                     shell("if [ $RANK_OF_JOB = 1 ]; then echo why >&2; "
                           "touch " +
                           file.path() +
                           ".1; "
                           "while [ ! -e " +
                           file.path() +
                           ".2 ]; do :; done; "
                           "sleep 0.2; exit 7; fi; "
                           "while [ ! -e " +
                           file.path() +
                           ".1 ]; do :; done; "
                           "sleep 0.2; echo other >&2; "
                           "touch " +
                           file.path() + ".2")));
  EXPECT_EQ(outcome.code, 7);
  EXPECT_THAT(outcome.err,
              MatchesRegex("why\nother\n"
                           "horovodrun: the last lines of rank 1 on standard "
                           "error:\n    why\nhorovodrun: rank 1 on [^\n]* "
                           "exited with code 7\n"));
}

TEST_P(HorovodrunEitherWay, DoesNotRepeatLinesThatAreTheLastAnyway) {
  const Outcome outcome = run(
      horovodrun({GetParam(), "-np", "2"}, shell("[ $RANK_OF_JOB = 1 ] || exit "
                                                 "0; echo why >&2; exit 7")));
  EXPECT_EQ(outcome.code, 7);
  EXPECT_THAT(outcome.err, MatchesRegex("why\nhorovodrun: rank 1 on [^\n]* "
                                        "exited with code 7\n"));
}

TEST_P(HorovodrunEitherWay, ShowsTheStacksOfACrash) {
  // The shell's own handlers would not change anything.
  const Words crash = {"python3", "-c",
                       "import os; print('begun', flush=True); os.abort()"};
  const Outcome outcome =
      run(horovodrun({GetParam(), "-np", "1", "--debug-on-crash"}, crash));
  EXPECT_EQ(outcome.code, 128 + SIGABRT);
  EXPECT_EQ(outcome.out, "begun\n");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("Fatal Python error: Aborted"),
                                 HasSubstr("crashes by signal 6 (Aborted); "),
                                 HasSubstr("abort")));
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("was killed by signal 6 (Aborted)"));
}

TEST_P(HorovodrunEitherWay, ShowsTheOwnStackOfACrashWithoutADebugger) {
  const Outcome outcome = run(horovodrun(
      {GetParam(), "-np", "1", "--debug-on-crash"},
      {"/usr/bin/env", "PATH=/nowhere", "/bin/sh", "-c", "kill -SEGV $$"}));
  EXPECT_EQ(outcome.code, 128 + SIGSEGV);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("install gdb there"),
                    HasSubstr("the stack of the thread that crashed:\n"),
                    HasSubstr("libc.so")));
}

TEST_P(HorovodrunEitherWay, SaysNothingOfAJobThatDoesNotCrash) {
  const Outcome outcome = run(horovodrun(
      {GetParam(), "-np", "1", "--debug-on-crash"}, shell("kill -TERM $$")));
  EXPECT_EQ(outcome.code, 128 + SIGTERM);
  EXPECT_EQ(outcome.err, outcome.last_line() + "\n");
}

TEST_P(HorovodrunEitherWay, BeginsLinesWithTheTime) {
  const Outcome outcome =
      run(horovodrun({GetParam(), "-np", "1", "-prefix-timestamp"},
                     shell("printf 'a\\nb\\n'; echo c >&2")));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out,
              MatchesRegex("[^\n]* 20[0-9][0-9]\\[0\\]<stdout>:a\n"
                           "[^\n]* 20[0-9][0-9]\\[0\\]<stdout>:b\n"));
  EXPECT_THAT(outcome.err,
              MatchesRegex("[^\n]* 20[0-9][0-9]\\[0\\]<stderr>:c\n"));
}

TEST_P(HorovodrunEitherWay, StartsAFailedJobAgain) {
  const Outcome outcome =
      run(horovodrun({GetParam(), "-np", "2", "--max-restarts", "3"},
                     shell("echo $HOROVODPP_RESTART_COUNT; "
                           "[ $HOROVODPP_RESTART_COUNT = 2 ] || exit 7")));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(lines_of(outcome.out), (Lines{"0", "1", "2"}));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("exited with code 7\n"),
                                 HasSubstr("horovodrun: restart 1 of 3\n"),
                                 HasSubstr("horovodrun: restart 2 of 3\n")));
}

TEST_P(HorovodrunEitherWay, GivesUpAfterTheLastRestart) {
  const Outcome outcome = run(horovodrun(
      {GetParam(), "-np", "1", "--max-restarts", "1"}, {"sh", "-c", "exit 7"}));
  EXPECT_EQ(outcome.code, 7);
  EXPECT_THAT(outcome.err, HasSubstr("restart 1 of 1"));
  EXPECT_THAT(outcome.last_line(), HasSubstr("exited with code 7"));
}

TEST_P(HorovodrunEitherWay, DoesNotRestartAJobThatTheUserEnds) {
  TestProcess process(
      horovodrun({GetParam(), "-np", "1", "--max-restarts", "5"},
                 shell("echo ready; sleep 1000; true")));
  ASSERT_TRUE(process.wait_for("ready"));
  process.send(SIGINT);
  expect(process.wait(), 128 + SIGINT, "ready\n",
         "horovodrun: stopped by signal 2 (Interrupt)\n");
}

TEST(HorovodrunByItself, RedirectsStreamsAndKeepsFilesOfEachStart) {
  const TemporaryFile file;
  const std::string folder = file.logs().string();
  const Outcome outcome = run(horovodrun(
      {"--no-mpi", "-np", "2", "--log-dir", folder, "-r", "0:1,1:3",
       "--max-restarts", "1"},
      shell("echo out; echo err >&2; exit $((1 - HOROVODPP_RESTART_COUNT))")));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.find("err\n"), 0u);
  for (const char* start : {"", "restart.1/"}) {
    for (const char* rank : {"rank.0", "rank.1"}) {
      EXPECT_EQ(contents(folder + "/" + start + rank + "/stdout"), "out\n");
      EXPECT_EQ(contents(folder + "/" + start + rank + "/stderr"), "err\n");
    }
  }
}

TEST(Horovodrun, RunsAModuleOfPython) {
  const Outcome outcome = run(horovodrun({"-np", "1", "-m"}, {"this"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Zen"));
}

// The host is known behind ssh's options.
TEST(Horovodrun, PassesOptionsToSsh) {
  const RemoteShell shell("echo \"ssh $*\" | cut -c1-30 >&2; exit 255");
  const Outcome outcome = run(horovodrun({"-np", "1", "-H", "c.invalid:1", "-p",
                                          "2222", "-i", "/my/key"},
                                         {"true"}),
                              shell.variables());
  EXPECT_THAT(outcome.err, HasSubstr("ssh -p 2222 -i /my/key c.inv"));
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("host 'c.invalid' cannot be used"));
}

TEST(HorovodrunByItself, ReportsThatItsStarterWasKilled) {
  TestProcess process(
      horovodrun({"--no-mpi", "-np", "2"}, shell("echo ready; sleep 1000")));
  ASSERT_TRUE(process.wait_for("ready", 2));
  const Outcome killer =
      run({"pkill", "-KILL", "-P", std::to_string(process.pid()), "-f",
           "start-ranks"});
  EXPECT_EQ(killer.code, 0);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 128 + SIGKILL);
  EXPECT_THAT(outcome.last_line(),
              HasSubstr("the process that starts the ranks was killed by "
                        "signal 9"));
  EXPECT_TRUE(process.alive().empty());
}

}  // namespace
}  // namespace hvd::launcher
