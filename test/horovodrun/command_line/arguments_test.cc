// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

namespace hvd::launcher {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Words = std::vector<std::string>;

Arguments parsed(const Words& words, const Environment& environment = {}) {
  const auto arguments = parse_arguments(words, environment);
  EXPECT_TRUE(arguments.ok()) << arguments.status();
  return arguments.ok() ? *arguments : Arguments();
}

std::string refusal(const Words& words, const Environment& environment = {}) {
  const auto arguments = parse_arguments(words, environment);
  EXPECT_FALSE(arguments.ok());
  return std::string(arguments.status().message());
}

TEST(Arguments, TakeTheNumberOfRanksInEverySpelling) {
  for (const Words& words :
       {Words{"-np", "3", "./train"}, Words{"-n", "3", "./train"},
        Words{"--num-proc", "3", "./train"},
        Words{"--num-proc=3", "./train"}}) {
    const Arguments arguments = parsed(words);
    EXPECT_EQ(arguments.ranks, 3);
    EXPECT_THAT(arguments.command, ElementsAre("./train"));
  }
}

TEST(Arguments, SayWhetherMpiStartsTheRanks) {
  using Way = Arguments::Way;
  EXPECT_EQ(parsed({"-np", "2", "./train"}).way, Way::kAsFits);
  EXPECT_EQ(parsed({"-np", "2", "--mpi", "./train"}).way, Way::kMpi);
  EXPECT_EQ(parsed({"--no-mpi", "-np", "2", "./train"}).way, Way::kLocal);
  EXPECT_EQ(parsed({"--gloo", "-np", "2", "./train"}).way, Way::kLocal);
  EXPECT_THAT(refusal({"--mpi", "--no-mpi", "-np", "2", "./train"}),
              HasSubstr("excludes"));
}

TEST(Arguments, LeaveTheOptionsOfTheCommandToIt) {
  const Arguments arguments =
      parsed({"-np", "2", "--verbose", "python", "-v", "train.py", "-np", "9",
              "--hosts", "x", "--", "-H"});
  EXPECT_EQ(arguments.ranks, 2);
  EXPECT_TRUE(arguments.verbose);
  EXPECT_THAT(arguments.hosts, IsEmpty());
  EXPECT_THAT(arguments.command, ElementsAre("python", "-v", "train.py", "-np",
                                             "9", "--hosts", "x", "--", "-H"));
}

TEST(Arguments, EndOptionsAtTwoDashes) {
  const Arguments arguments =
      parsed({"-np", "2", "--", "-odd-name", "--", "-x"});
  EXPECT_THAT(arguments.command, ElementsAre("-odd-name", "--", "-x"));
}

TEST(Arguments, KeepEmptyWordsOfTheCommand) {
  EXPECT_THAT(parsed({"-np", "1", "echo", "", " "}).command,
              ElementsAre("echo", "", " "));
}

TEST(Arguments, TakeWhatGoesToMpirun) {
  const Arguments arguments =
      parsed({"--mpi-args", "-x 'A=b c' --tag-output", "--output-filename",
              "logs", "--network-interface", "eth0,eth1", "--network-interface",
              "ib0", "-np", "2", "ls"});
  EXPECT_THAT(arguments.mpi_arguments,
              ElementsAre("-x", "A=b c", "--tag-output"));
  EXPECT_EQ(arguments.output_filename, "logs");
  EXPECT_THAT(arguments.network_interfaces, ElementsAre("eth0", "eth1", "ib0"));
}

TEST(Arguments, FillHostsInOrder) {
  const Arguments arguments =
      parsed({"-np", "3", "-H", "a:2,b:2,c:2", "./train"});
  EXPECT_THAT(arguments.hosts, ElementsAre(Host{"a", 2}, Host{"b", 1}));
}

TEST(Arguments, ReadAHostfile) {
  const std::string path =
      testing::TempDir() + "/arguments_test_hosts." + std::to_string(getpid());
  std::ofstream(path) << "# my hosts\na slots=2\n\nb slots=4 max_slots=8\n";
  EXPECT_THAT(parsed({"-np", "6", "-hostfile", path, "./train"}).hosts,
              ElementsAre(Host{"a", 2}, Host{"b", 4}));
  EXPECT_THAT(refusal({"-np", "1", "--hostfile", path + "-no", "./train"}),
              HasSubstr("cannot read the hostfile"));
}

TEST(Arguments, PreferTheStartTimeoutOfTheCommandLine) {
  const Environment environment = {{"HOROVOD_START_TIMEOUT", "90"}};
  EXPECT_EQ(parsed({"-np", "1", "ls"}).start_timeout.count(), 30000);
  EXPECT_EQ(parsed({"-np", "1", "ls"}, environment).start_timeout.count(),
            90000);
  EXPECT_EQ(parsed({"-np", "1", "--start-timeout", "7", "ls"}, environment)
                .start_timeout.count(),
            7000);
}

TEST(Arguments, TakeAFractionOfASecondAsTheLibraryDoes) {
  EXPECT_EQ(parsed({"-np", "1", "ls"}, {{"HOROVOD_START_TIMEOUT", "2.5"}})
                .start_timeout.count(),
            2500);
  EXPECT_EQ(
      parsed({"-np", "1", "--start-timeout=0.5", "ls"}).start_timeout.count(),
      500);
  for (const char* text : {"0", "-1", "nan", "inf", "1e30", "soon", "604801"}) {
    EXPECT_THAT(refusal({"-np", "1", "ls"}, {{"HOROVOD_START_TIMEOUT", text}}),
                AllOf(HasSubstr(text), HasSubstr("up to 604800")));
  }
}

TEST(Arguments, SayWhatIsWrongWithAHostfile) {
  const std::string path =
      testing::TempDir() + "/arguments_test_empty." + std::to_string(getpid());
  std::ofstream(path).flush();
  EXPECT_THAT(refusal({"-np", "1", "--hostfile", path, "ls"}),
              HasSubstr("names no host"));
  EXPECT_THAT(refusal({"-np", "1", "--hostfile", testing::TempDir(), "ls"}),
              HasSubstr("is a folder"));
  EXPECT_THAT(refusal({"-np", "1", "--hostfile", "/dev/zero", "ls"}),
              HasSubstr("too long"));
  EXPECT_THAT(refusal({"-np", "1", "--hostfile", path + "-no", "ls"}),
              HasSubstr("No such file"));
}

TEST(Arguments, SwitchWhatGoesByTheNodesOnAndOff) {
  EXPECT_THAT(parsed({"-np", "1", "ls"}).settings, IsEmpty());
  EXPECT_THAT(parsed({"--hierarchical-allreduce", "--no-hierarchical-allgather",
                      "-np", "1", "ls"})
                  .settings,
              ElementsAre(Pair("HOROVOD_HIERARCHICAL_ALLGATHER", "0"),
                          Pair("HOROVOD_HIERARCHICAL_ALLREDUCE", "1")));
  EXPECT_THAT(parsed({"-np", "1", "--no-hierarchical-allreduce",
                      "--hierarchical-allgather", "ls", "--no-such-option"})
                  .settings,
              ElementsAre(Pair("HOROVOD_HIERARCHICAL_ALLGATHER", "1"),
                          Pair("HOROVOD_HIERARCHICAL_ALLREDUCE", "0")));
  EXPECT_THAT(refusal({"-np", "1", "--hierarchical-allgather",
                       "--no-hierarchical-allgather", "ls"}),
              HasSubstr("excludes"));
}

TEST(Arguments, AnswerQuestionsAboutThemselves) {
  EXPECT_THAT(parsed({"--help"}).answer, HasSubstr("--num-proc"));
  EXPECT_THAT(parsed({"-v"}).answer, HasSubstr("."));
}

TEST(Arguments, RefuseWhatCannotBeMeant) {
  EXPECT_THAT(refusal({}), HasSubstr("how many ranks"));
  EXPECT_THAT(refusal({"./train"}), HasSubstr("how many ranks"));
  EXPECT_THAT(refusal({"-np"}), HasSubstr("--num-proc"));
  EXPECT_THAT(refusal({"-np", "2"}), HasSubstr("what to run"));
  EXPECT_THAT(refusal({"-np", "0", "ls"}), HasSubstr("-np is 0"));
  EXPECT_THAT(refusal({"-np", "-1", "ls"}), HasSubstr("-np is -1"));
  EXPECT_THAT(refusal({"-np", "two", "ls"}), HasSubstr("two"));
  EXPECT_THAT(refusal({"-np", "2", "--fast", "ls"}),
              HasSubstr("unknown option '--fast'"));
  EXPECT_THAT(refusal({"-np", "2", "-H", "a:1", "ls"}), HasSubstr("slots (1)"));
  EXPECT_THAT(refusal({"-np", "2", "--start-timeout", "0", "ls"}),
              HasSubstr("start timeout"));
  EXPECT_THAT(refusal({"-np", "2", "ls"}, {{"HOROVOD_START_TIMEOUT", "soon"}}),
              HasSubstr("HOROVOD_START_TIMEOUT"));
  EXPECT_THAT(refusal({"-np", "2", "--mpi-args", "-x 'A", "ls"}),
              HasSubstr("not closed"));
}

TEST(Arguments, RefuseHostsFromTwoPlaces) {
  EXPECT_THAT(refusal({"-np", "1", "-H", "a:1", "--hostfile", "f", "ls"}),
              HasSubstr("excludes"));
}

TEST(SplitWords, FollowsTheShellsQuotes) {
  EXPECT_THAT(*split_words(" a  'b c'\"d\\\"e\"f \\  '' "),
              ElementsAre("a", "b cd\"ef", " ", ""));
  EXPECT_THAT(*split_words(""), IsEmpty());
}

}  // namespace
}  // namespace hvd::launcher
