// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace hvd::launcher {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
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

TEST(Arguments, NameTheEngine) {
  EXPECT_EQ(parsed({"-np", "2", "./train"}).engine, "");
  EXPECT_EQ(parsed({"-np", "2", "--mpi", "./train"}).engine, "mpirun");
  EXPECT_EQ(parsed({"--no-mpi", "-np", "2", "./train"}).engine, "direct");
  EXPECT_EQ(parsed({"--gloo", "-np", "2", "./train"}).engine, "direct");
  for (const char* name : {"direct", "local", "ssh"}) {
    EXPECT_EQ(parsed({"--launcher", name, "-np", "2", "./train"}).engine,
              "direct");
  }
  EXPECT_EQ(parsed({"--launcher", "srun", "-np", "2", "./train"}).engine,
            "srun");
}

TEST(Arguments, TakeHostsFromAScheduler) {
  const HostSource scheduler = [] {
    return std::vector<Host>{{"a", 2}, {"b", 1}};
  };
  auto arguments = parse_arguments({"./train"}, {}, scheduler);
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->ranks, 3);
  EXPECT_THAT(arguments->hosts, ElementsAre(Host{"a", 2}, Host{"b", 1}));
  arguments = parse_arguments({"-np", "1", "./train"}, {}, scheduler);
  EXPECT_THAT(arguments->hosts, ElementsAre(Host{"a", 1}));
  arguments = parse_arguments({"-np", "1", "-H", "c:1", "ls"}, {}, scheduler);
  EXPECT_THAT(arguments->hosts, ElementsAre(Host{"c", 1}));
  const HostSource broken = [] { return absl::InternalError("no list"); };
  EXPECT_EQ(parse_arguments({"./train"}, {}, broken).status().message(),
            "no list");
  EXPECT_TRUE(parse_arguments({"--version"}, {}, broken).ok());
}

TEST(Arguments, LeaveTheCommandItsOptions) {
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

TEST(Arguments, TakeOptionsForMpirun) {
  const Arguments arguments =
      parsed({"--mpi-args", "-x 'A=b c' --tag-output", "--output-filename",
              "logs", "--network-interface", "eth0,eth1", "--network-interface",
              "ib0", "-np", "2", "ls"});
  EXPECT_THAT(arguments.mpi_arguments,
              ElementsAre("-x", "A=b c", "--tag-output"));
  EXPECT_EQ(arguments.output_filename, "logs");
  EXPECT_THAT(arguments.network_interfaces, ElementsAre("eth0", "eth1", "ib0"));
}

TEST(Arguments, TakeOptionsForOutput) {
  Arguments arguments = parsed(
      {"--tag-output", "--log-dir", "logs", "--log-max-size", "2K",
       "--log-files", "7", "--watch", "--debug-on-crash", "-np", "2", "ls"});
  EXPECT_TRUE(arguments.prefix.is_on);
  EXPECT_FALSE(arguments.prefix.has_time);
  EXPECT_EQ(arguments.log_limits.max_bytes, 2048);
  EXPECT_EQ(arguments.log_limits.files, 7);
  EXPECT_TRUE(arguments.watches);
  EXPECT_EQ(arguments.settings.at("HOROVODRUN_DEBUG_ON_CRASH"), "1");
  EXPECT_EQ(arguments.settings.at("PYTHONFAULTHANDLER"), "1");
  EXPECT_EQ(arguments.settings.at("HOROVODPP_HEARTBEAT_SECONDS"), "60");
  arguments = parsed({"--prefix-output-with-timestamp", "-np", "2", "ls"});
  EXPECT_TRUE(arguments.prefix.is_on && arguments.prefix.has_time);
  arguments = parsed({"-np", "2", "ls"});
  EXPECT_FALSE(arguments.prefix.is_on || arguments.watches);
  EXPECT_EQ(arguments.log_limits.max_bytes, 0);
}

TEST(Arguments, FillHostsInOrder) {
  const Arguments arguments =
      parsed({"-np", "3", "-H", "a:2,b:2,c:2", "./train"});
  EXPECT_THAT(arguments.hosts, ElementsAre(Host{"a", 2}, Host{"b", 1}));
}

TEST(Arguments, TakeHostsAndRanksOfAScheduler) {
  const auto with = [](const Words& words, std::vector<Host> hosts) {
    const auto arguments = parse_arguments(
        words, {},
        [&]() -> absl::StatusOr<std::vector<Host>> { return hosts; });
    EXPECT_TRUE(arguments.ok()) << arguments.status();
    return arguments.ok() ? *arguments : Arguments();
  };
  const std::vector<Host> two = {{"a", 2}, {"b", 1}};
  EXPECT_EQ(with({"./train"}, two).ranks, 3);
  EXPECT_EQ(with({"./train"}, two).hosts, two);
  EXPECT_THAT(with({"-np", "2", "./train"}, two).hosts,
              ElementsAre(Host{"a", 2}));
  EXPECT_THAT(with({"-np", "1", "-H", "c:1", "./train"}, two).hosts,
              ElementsAre(Host{"c", 1}));
  // Of a single host -np may ask for more.
  EXPECT_THAT(with({"-np", "4", "./train"}, {{"a", 2}}).hosts,
              ElementsAre(Host{"a", 4}));
}

TEST(Arguments, NameTheLauncher) {
  EXPECT_EQ(parsed({"-np", "1", "ls"}).engine, "");
  EXPECT_EQ(parsed({"--launcher", "auto", "-np", "1", "ls"}).engine, "");
  EXPECT_EQ(parsed({"--launcher=srun", "-np", "1", "ls"}).engine, "srun");
  EXPECT_THAT(refusal({"--launcher", "jsrun", "-np", "1", "ls"}),
              HasSubstr("jsrun"));
  EXPECT_THAT(refusal({"--launcher", "srun", "--mpi", "-np", "1", "ls"}),
              HasSubstr("--launcher and --mpi exclude each other (how ranks "
                        "are started)"));
}

TEST(Arguments, ReadAHostfile) {
  const std::string path =
      testing::TempDir() + "/arguments_test_hosts." + std::to_string(getpid());
  std::ofstream(path) << "# my hosts\na slots=2\n\nb slots=4 max_slots=8\n";
  EXPECT_THAT(parsed({"-np", "6", "-hostfile", path, "./train"}).hosts,
              ElementsAre(Host{"a", 2}, Host{"b", 4}));
  std::ofstream(path).flush();
  for (const auto& [file, error] :
       {std::pair<std::string, const char*>{path, "names no host"},
        {testing::TempDir(), "is a folder"},
        {"/dev/zero", "too long"},
        {path + "-no", "No such file"}}) {
    EXPECT_THAT(refusal({"-np", "1", "--hostfile", file, "ls"}),
                HasSubstr(error));
  }
  std::remove(path.c_str());
}

TEST(Arguments, TakeTheStartTimeoutInSeconds) {
  const auto milliseconds = [](const Words& option, const std::string& value) {
    Words words = {"-np", "1"};
    words.insert(words.end(), option.begin(), option.end());
    words.push_back("ls");
    return parsed(words, {{"HOROVOD_START_TIMEOUT", value}})
        .start_timeout.count();
  };
  EXPECT_EQ(milliseconds({}, ""), 30000);
  EXPECT_EQ(milliseconds({}, "90"), 90000);
  EXPECT_EQ(milliseconds({}, "2.5"), 2500);
  EXPECT_EQ(milliseconds({"--start-timeout", "7"}, "90"), 7000);
  EXPECT_EQ(milliseconds({"--start-timeout=0.5"}, ""), 500);
  for (const char* text : {"0", "-1", "nan", "inf", "1e30", "soon", "604801"}) {
    EXPECT_THAT(refusal({"-np", "1", "ls"}, {{"HOROVOD_START_TIMEOUT", text}}),
                AllOf(HasSubstr("HOROVOD_START_TIMEOUT"), HasSubstr(text),
                      HasSubstr("from 0.001 to 604800")));
  }
}

TEST(Arguments, TurnHierarchicalCollectivesOnAndOff) {
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
}

TEST(Arguments, AskForHelpAndVersion) {
  EXPECT_THAT(parsed({"--help"}).answer, HasSubstr("--num-proc"));
  EXPECT_THAT(parsed({"-v"}).answer, HasSubstr("."));
}

TEST(Arguments, AreRefusedWithTheReason) {
  struct Case {
    Words words;
    const char* reason;
  };
  for (const Case& one : std::vector<Case>{
           {{}, "how many ranks"},
           {{"./train"}, "how many ranks"},
           {{"-np"}, "-np needs a value: N"},
           {{"-np", "2"}, "what to run"},
           {{"-np", "0", "ls"}, "-np is '0'; give a whole number from 1"},
           {{"-np", "-1", "ls"}, "-np is '-1'"},
           {{"-np", "two", "ls"}, "-np is 'two'"},
           {{"-np", "2", "--fast", "ls"},
            "unknown option '--fast'; see horovodrun --help"},
           {{"-np", "2", "--verbos", "ls"}, "did you mean '--verbose'?"},
           {{"-np", "2", "--mpi=1", "ls"}, "--mpi takes no value, but '1'"},
           {{"-np", "2", "--nproc-per-node", "2", "ls"}, "exclude each other"},
           {{"--nproc-per-node", "many", "ls"}, "auto, gpu or cpu"},
           {{"-np", "2", "--redirects", "3", "ls"}, "with --log-dir"},
           {{"-np", "2", "--log-dir", "x", "-r", "4", "ls"}, "--redirects is"},
           {{"-np", "2", "--log-max-size", "1M", "ls"}, "with --log-dir"},
           {{"-np", "2", "--log-dir", "x", "--log-files", "3", "ls"},
            "give --log-max-size"},
           {{"-np", "2", "--log-dir", "x", "--log-max-size", "1.5M", "ls"},
            "as in 100M"},
           {{"-np", "2", "--log-dir", "x", "--log-max-size", "1M",
             "--log-files", "1", "ls"},
            "--log-files"},
           {{"-np", "2", "-p", "0", "ls"}, "-p is '0'"},
           {{"-np", "2", "-i", "my key", "ls"}, "path without blanks"},
           {{"-np", "2", "--log-level", "LOUD", "ls"}, "TRACE, DEBUG"},
           {{"-np", "2", "--thread-affinity", "a", "ls"}, "as in 0,1"},
           {{"-np", "2", "--config-file", "/no", "ls"}, "No such file"},
           {{"-np", "2", "-H", "a:1", "ls"}, "slots (1)"},
           {{"-np", "2", "--start-timeout", "0", "ls"},
            "--start-timeout is '0'"},
           {{"-np", "2", "--mpi-args", "-x 'A", "ls"}, "not closed"},
           {{"-np", "1", "-H", "a:1", "--hostfile", "f", "ls"},
            "exclude each other"},
           {{"--mpi", "--no-mpi", "-np", "2", "ls"}, "exclude each other"},
           {{"-np", "1", "--hierarchical-allgather",
             "--no-hierarchical-allgather", "ls"},
            "exclude each other"}}) {
    EXPECT_THAT(refusal(one.words), HasSubstr(one.reason));
  }
}

TEST(Arguments, StartAsManyRanksAsTheHostsHaveSlots) {
  EXPECT_EQ(parsed({"-H", "a:2,b:3", "./train"}).ranks, 5);
}

TEST(Arguments, StartTheRanksOfEachHost) {
  const Arguments arguments =
      parsed({"--nproc-per-node", "3", "-H", "a:1,b:1", "./train"});
  EXPECT_EQ(arguments.ranks, 6);
  EXPECT_THAT(arguments.hosts, ElementsAre(Host{"a", 3}, Host{"b", 3}));
  EXPECT_EQ(parsed({"--nproc_per_node=2", "./train"}).ranks, 2);
  EXPECT_GE(parsed({"--nproc-per-node", "cpu", "./train"}).ranks, 1);
  const Environment no_gpu = {{"HOROVODPP_CUDA_LIBRARY", "/nonexistent"}};
  EXPECT_GE(parsed({"--nproc-per-node", "auto", "./train"}, no_gpu).ranks, 1);
  EXPECT_THAT(refusal({"--nproc-per-node", "gpu", "./train"}, no_gpu),
              HasSubstr("no GPU on this host"));
}

TEST(Arguments, LeaveTheSchedulersHostsForAStandaloneJob) {
  const HostSource scheduler = [] {
    return std::vector<Host>{{"a", 2}, {"b", 1}};
  };
  const auto arguments = parse_arguments(
      {"--standalone", "--nproc-per-node", "4", "./train"}, {}, scheduler);
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->ranks, 4);
  EXPECT_THAT(arguments->hosts, IsEmpty());
}

TEST(Arguments, RunAModuleByPython) {
  const Arguments arguments =
      parsed({"-np", "1", "-m", "pkg.train", "-m", "x"});
  ASSERT_EQ(arguments.command.size(), 5u);
  EXPECT_THAT(arguments.command[0], HasSubstr("python3"));
  EXPECT_THAT(Words(arguments.command.begin() + 1, arguments.command.end()),
              ElementsAre("-m", "pkg.train", "-m", "x"));
}

TEST(Arguments, PassOptionsForSshToEveryMpi) {
  const Environment settings =
      parsed({"-np", "1", "-p", "2222", "-i", "/key", "ls"}).settings;
  for (const char* name :
       {"OMPI_MCA_plm_rsh_args", "PRTE_MCA_plm_ssh_args",
        "HYDRA_LAUNCHER_EXTRA_ARGS", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"}) {
    EXPECT_THAT(settings, Contains(Pair(name, "-p 2222 -i /key")));
  }
}

TEST(Arguments, BindRanksAsAsked) {
  EXPECT_THAT(parsed({"-np", "1", "--mpi-args", "-x A", "--binding-args",
                      "--bind-to core", "ls"})
                  .mpi_arguments,
              ElementsAre("--bind-to", "core", "-x", "A"));
}

TEST(Arguments, PreferTheCommandLineToTheFile) {
  const std::string path =
      testing::TempDir() + "/arguments_test_config." + std::to_string(getpid());
  std::ofstream(path)
      << "controller: mpi\n"
         "params: {cycle_time_ms: 2, cache_capacity: 7}\n"
         "stall_check: {enabled: false}\n"
         "autotune: {warmup_samples: 3, gaussian_process_noise: 0.5}\n";
  const Arguments arguments =
      parsed({"--cycle-time-ms", "0.5", "--config-file", path, "--stall-check",
              "--no-mpi", "-np", "1", "ls"});
  EXPECT_EQ(arguments.engine, "direct");
  EXPECT_THAT(arguments.settings,
              UnorderedElementsAre(
                  Pair("HOROVOD_CYCLE_TIME", "0.5"),
                  Pair("HOROVOD_CACHE_CAPACITY", "7"),
                  Pair("HOROVOD_STALL_CHECK_DISABLE", "0"),
                  Pair("HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "3"),
                  Pair("HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", "0.5")));
  EXPECT_THAT(
      arguments.notes,
      ElementsAre(HasSubstr("autotune.gaussian_process_noise has no effect")));
  std::ofstream(path) << "params: {cycle_time: 2}\n";
  EXPECT_THAT(refusal({"--config-file", path, "-np", "1", "ls"}),
              AllOf(HasSubstr(path), HasSubstr("params.cycle_time_ms")));
  std::remove(path.c_str());
}

TEST(Arguments, PrintWhatFollowsFromTheTable) {
  EXPECT_THAT(parsed({"--completion", "bash"}).answer, HasSubstr("complete"));
  EXPECT_THAT(parsed({"--completion", "zsh"}).answer, HasSubstr("#compdef"));
  EXPECT_THAT(parsed({"--print", "manual"}).answer, HasSubstr(".TH"));
  EXPECT_THAT(parsed({"--print", "table"}).answer, HasSubstr("|---|"));
}

// Elastic jobs.

TEST(Arguments, TakeTheTermsOfAnElasticJob) {
  EXPECT_FALSE(parsed({"-np", "2", "./train"}).elastic.is_elastic());
  const Arguments arguments =
      parsed({"-np", "2", "--min-np", "1", "--max-np", "4", "--spares", "1",
              "--reset-limit", "3", "--elastic-timeout", "2.5",
              "--shutdown-timeout", "0.5", "-H", "a:2,b:4", "./train"});
  EXPECT_EQ(arguments.engine, "direct");
  const ElasticTerms& terms = arguments.elastic;
  EXPECT_EQ(terms.least, 1);
  EXPECT_EQ(terms.most, 4);
  EXPECT_EQ(terms.spares, 1);
  EXPECT_EQ(terms.most_losses, 3);
  EXPECT_EQ(terms.timeout, std::chrono::milliseconds(2500));
  EXPECT_EQ(terms.leaving_time, std::chrono::milliseconds(500));
  EXPECT_EQ(arguments.hosts, (std::vector<Host>{{"a", 2}}));
  EXPECT_EQ(arguments.room, (std::vector<Host>{{"a", 2}, {"b", 4}}));
}

TEST(Arguments, TakeTheRangeOfCooldowns) {
  const Cooldown cooldown =
      parsed({"-np", "2", "--blacklist-cooldown-range", "5", "40", "./train"})
          .elastic.cooldown;
  EXPECT_EQ(cooldown.shortest, std::chrono::seconds(5));
  EXPECT_EQ(cooldown.longest, std::chrono::seconds(40));
  EXPECT_TRUE(cooldown.after_any_failure);
  EXPECT_THAT(
      refusal({"-np", "2", "--blacklist-cooldown-range", "9", "8", "x"}),
      HasSubstr("is 9 8; give the shorter time first"));
  EXPECT_THAT(
      refusal({"-np", "2", "--blacklist-cooldown-range", "0", "8", "x"}),
      HasSubstr("give a whole number from 1 to 3600"));
}

// A discovery script that names hosts, and how it was asked.
class DiscoveringArguments : public testing::Test {
 protected:
  absl::StatusOr<Arguments> read(Words words) {
    words.insert(words.begin(), {"--host-discovery-script", "find 'my hosts'"});
    words.push_back("./train");
    return parse_arguments(
        words, {}, {},
        [&](const Discovery& discovery, int least, std::chrono::milliseconds) {
          asked_ = discovery;
          least_ = least;
          return hosts_;
        });
  }

  absl::StatusOr<std::vector<Host>> hosts_ =
      std::vector<Host>{{"a", 2}, {"b", 1}};
  Discovery asked_;
  int least_ = 0;
};

TEST_F(DiscoveringArguments, StartOnTheSlotsThatAreThere) {
  const auto arguments = read(
      {"-np", "4", "--min-np", "2", "--max-np", "6", "--slots-per-host", "3"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_THAT(asked_.script, ElementsAre("find", "my hosts"));
  EXPECT_EQ(asked_.slots_per_host, 3);
  EXPECT_EQ(least_, 2);
  EXPECT_EQ(arguments->ranks, 3);
  EXPECT_EQ(arguments->hosts, (std::vector<Host>{{"a", 2}, {"b", 1}}));
  EXPECT_EQ(arguments->elastic.least, 2);
  EXPECT_EQ(arguments->elastic.most, 6);
}

TEST_F(DiscoveringArguments, TakeAllSlotsUpToTheLargestNumberOfRanks) {
  auto arguments = read({});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(least_, 1);
  EXPECT_EQ(arguments->ranks, 3);
  arguments = read({"--max-np", "2"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->ranks, 2);
  arguments = read({"-np", "2"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(least_, 2);
  EXPECT_EQ(arguments->ranks, 2);
  EXPECT_EQ(arguments->elastic.most, 2);
}

TEST_F(DiscoveringArguments, TellErrors) {
  EXPECT_THAT(std::string(read({"--mpi"}).status().message()),
              HasSubstr("--host-discovery-script makes the job elastic, and "
                        "mpirun can start no ranks"));
  EXPECT_THAT(std::string(read({"-H", "a:2"}).status().message()),
              HasSubstr("exclude each other (hosts)"));
  EXPECT_THAT(std::string(read({"--nproc-per-node", "2"}).status().message()),
              HasSubstr("give --slots-per-host"));
  hosts_ = absl::InvalidArgumentError("no cloud");
  EXPECT_EQ(read({}).status().message(), "no cloud");
}

TEST(Arguments, SayThatSlotsPerHostNeedADiscoveryScript) {
  EXPECT_THAT(parsed({"-np", "2", "--slots-per-host", "2", "./train"}).notes,
              ElementsAre(HasSubstr("--slots-per-host has no effect: ")));
}

}  // namespace
}  // namespace hvd::launcher
