// SPDX-License-Identifier: Apache-2.0
// PBS, LSF and Kubernetes, by examples of their formats.
#include "horovodrun/schedulers/schedulers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "horovodrun/schedulers/mpi_operator.h"

namespace hvd::launcher {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Schedulers : public ::testing::Test {
 protected:
  // A file with this text, until the test ends.
  std::string file(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  void TearDown() override { std::filesystem::remove(path_); }

  static std::vector<Host> hosts_of(const Environment& environment) {
    const auto hosts = scheduled_hosts(environment);
    EXPECT_TRUE(hosts.ok()) << hosts.status();
    return hosts.ok() ? *hosts : std::vector<Host>();
  }
  static std::string error_of(const Environment& environment) {
    return scheduled_hosts(environment).status().ToString();
  }

 private:
  const std::string path_ =
      absl::StrCat(::testing::TempDir(), "/hosts.", ::getpid());
};

TEST_F(Schedulers, AreNoneOnAPlainMachine) {
  EXPECT_THAT(hosts_of({{"PATH", "/bin"}}), ElementsAre());
}

// select=2:ncpus=4:mpiprocs=2; and Torque, whose hosts may alternate.
TEST_F(Schedulers, ReadTheNodefileOfPbs) {
  EXPECT_THAT(hosts_of({{"PBS_NODEFILE", file("r1i0n1.ice\nr1i0n1.ice\n"
                                              "r1i0n2.ice\nr1i0n2.ice\n")}}),
              ElementsAre(Host{"r1i0n1.ice", 2}, Host{"r1i0n2.ice", 2}));
  EXPECT_THAT(hosts_of({{"PBS_NODEFILE", file("a\nb\na\n\nb\na")}}),
              ElementsAre(Host{"a", 3}, Host{"b", 2}));
}

// bsub -n 5 -R "span[ptile=2]".
TEST_F(Schedulers, ReadTheHostsOfLsf) {
  EXPECT_THAT(
      hosts_of({{"LSB_MCPU_HOSTS", "hostA 2 hostB 2 hostC 1 "}}),
      ElementsAre(Host{"hostA", 2}, Host{"hostB", 2}, Host{"hostC", 1}));
  EXPECT_THAT(hosts_of({{"LSB_DJOB_HOSTFILE", file("hostA\nhostA\nhostB\n")}}),
              ElementsAre(Host{"hostA", 2}, Host{"hostB", 1}));
}

TEST_F(Schedulers, ReadTheHostfilesOfKubernetes) {
  const Environment pod = {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}};
  const auto with = [&](const char* variable, const std::string& text) {
    Environment environment = pod;
    environment[variable] = file(text);
    return hosts_of(environment);
  };
  EXPECT_THAT(hosts_of(pod), ElementsAre());
  EXPECT_THAT(with("OMPI_MCA_orte_default_hostfile",
                   "train-launcher.train.default.svc slots=2\n"
                   "train-worker-0.train.default.svc slots=2\n"),
              ElementsAre(Host{"train-launcher.train.default.svc", 2},
                          Host{"train-worker-0.train.default.svc", 2}));
  for (const char* variable : {"HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE"}) {
    EXPECT_THAT(with(variable,
                     "train-worker-0.train.default.svc:4\n"
                     "train-worker-1.train.default.svc:4\n"),
                ElementsAre(Host{"train-worker-0.train.default.svc", 4},
                            Host{"train-worker-1.train.default.svc", 4}));
  }
  Environment trainer = pod;
  trainer["OMPI_MCA_orte_set_default_slots"] = "3";
  trainer["OMPI_MCA_orte_default_hostfile"] =
      file("train-node-0-0.train\ntrain-node-0-1.train slots=1\n");
  EXPECT_THAT(hosts_of(trainer), ElementsAre(Host{"train-node-0-0.train", 3},
                                             Host{"train-node-0-1.train", 1}));
}

// Elsewhere the variable is a setting of the user's Open MPI.
TEST_F(Schedulers, LeaveTheHostfileOfTheUsersMpiToIt) {
  EXPECT_THAT(hosts_of({{"OMPI_MCA_orte_default_hostfile", file("a slots=2")}}),
              ElementsAre());
}

TEST_F(Schedulers, ReadDiscoverHosts) {
  EXPECT_THAT(*parse_operator_hosts("#!/bin/sh\n"
                                    "echo train-worker-0.train.default.svc:2\n"
                                    "echo train-worker-1.train.default.svc\n",
                                    1),
              ElementsAre(Host{"train-worker-0.train.default.svc", 2},
                          Host{"train-worker-1.train.default.svc", 1}));
}

TEST_F(Schedulers, NameWhatTheyCannotRead) {
  EXPECT_THAT(error_of({{"PBS_NODEFILE", "/nowhere/nodes"}}),
              HasSubstr("PBS_NODEFILE (/nowhere/nodes) cannot be read: No such "
                        "file or directory; name the hosts by -H"));
  EXPECT_THAT(error_of({{"PBS_NODEFILE", file("a\nb c\n")}}),
              AllOf(HasSubstr("PBS_NODEFILE ("),
                    HasSubstr("has the line 'b c', which names no host")));
  EXPECT_THAT(error_of({{"PBS_NODEFILE", file("\n")}}),
              HasSubstr("names no host"));
  for (const char* pairs : {"a", "a 0", "a b", "a 1 b", "-a 1"}) {
    EXPECT_THAT(error_of({{"LSB_MCPU_HOSTS", pairs}}),
                HasSubstr(absl::StrCat("LSB_MCPU_HOSTS='", pairs,
                                       "' is not a list of hosts")));
  }
  for (const char* line : {"a:0", "a:", "a:b", "a slots=0", "a/b", ":2"}) {
    EXPECT_THAT(error_of({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                          {"HYDRA_HOST_FILE", file(line)}}),
                HasSubstr(absl::StrCat("has the line '", line,
                                       "', which is not a host; name the "
                                       "hosts by -H")));
  }
}

// Any file is read or refused, and the result has hosts and slots.
TEST_F(Schedulers, SurviveAnyText) {
  std::mt19937 random(3);
  const std::string letters = "ab-.:=1 \n#slots";
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (auto left = random() % 16; left > 0; --left) {
      text += letters[random() % letters.size()];
    }
    const auto hosts = parse_operator_hosts(text, 1);
    if (!hosts.ok()) continue;
    EXPECT_FALSE(hosts->empty()) << text;
    for (const Host& host : *hosts) EXPECT_GE(host.slots, 1) << text;
  }
}

}  // namespace
}  // namespace hvd::launcher
