// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/schedulers/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hvd::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using NodeNames = std::vector<std::string>;

// As an sbatch script has them.
Environment allocation_of(const std::string& nodes, const std::string& counts) {
  return {{"SLURM_JOB_ID", "17"},
          {"SLURM_JOB_NODELIST", nodes},
          {"SLURM_TASKS_PER_NODE", counts},
          {"SLURM_PROCID", "0"}};
}

std::vector<Host> slurm_hosts_of(const Environment& environment) {
  const auto hosts = slurm_hosts(environment);
  EXPECT_TRUE(hosts.ok()) << hosts.status();
  return hosts.ok() ? *hosts : std::vector<Host>();
}

TEST(Slurm, ExpandsNodesAsScontrolShowHostnamesDoes) {
  for (const auto& [text, names] :
       std::vector<std::pair<std::string, NodeNames>>{
           {"vm", {"vm"}},
           {"n[1-3]", {"n1", "n2", "n3"}},
           {"n[08-11],login", {"n08", "n09", "n10", "n11", "login"}},
           {"n[1,3,5-6]-ib", {"n1-ib", "n3-ib", "n5-ib", "n6-ib"}},
           {"r[0-1]c[1-2]", {"r0c1", "r0c2", "r1c1", "r1c2"}},
           {"a.b.example,gpu-7", {"a.b.example", "gpu-7"}}}) {
    const auto expanded = expand_nodes(text);
    ASSERT_TRUE(expanded.ok()) << expanded.status();
    EXPECT_EQ(*expanded, names) << text;
  }
}

TEST(Slurm, ExpandsCounts) {
  EXPECT_EQ(*expand_counts("2"), (std::vector{2}));
  EXPECT_EQ(*expand_counts("2(x3),1"), (std::vector{2, 2, 2, 1}));
  EXPECT_EQ(*expand_counts("1,16(x2)"), (std::vector{1, 16, 16}));
}

TEST(Slurm, RefusesOtherTexts) {
  for (const char* text :
       {"", ",", "n[", "n]", "n[]", "n[1", "n[a]", "n[1-]", "n[-1]", "n[3-1]",
        "n[1-99999999]", "n[0-999][0-999][0-999]", "n1,,n2", "-n", "n 1",
        "n[1]]", "[[1]]", "n[1-2-3]", "n[+1]"}) {
    const auto status = expand_nodes(text).status();
    EXPECT_THAT(status.ToString(), HasSubstr("is not a list of nodes")) << text;
  }
  // Each of many names would be as long.
  const std::string zeros(100000, '0');
  for (const std::string& text : {"n[" + zeros + "1-60000]", zeros + "[1-9]"}) {
    EXPECT_FALSE(expand_nodes(text).ok());
  }
  for (const char* text : {"", "0", "-1", "2(x)", "2(3)", "2(x3", "x", "2,",
                           "2(x9999999)", "2(x3))"}) {
    EXPECT_FALSE(expand_counts(text).ok()) << text;
  }
}

// Lists that are built from hosts are read as these hosts.
TEST(Slurm, ReadsTheListsOfAnyHosts) {
  std::mt19937 random(1);
  const auto draw = [&](int most) {
    return std::uniform_int_distribution<int>(1, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> entries;
    std::vector<std::string> counts;
    std::vector<Host> hosts;
    for (int entry = draw(4); entry > 0; --entry) {
      const std::string prefix = absl::StrCat("h", entry, "-");
      const int first = draw(120);
      const int last = first + draw(5) - 1;
      const int slots = draw(9);
      const bool padded = draw(2) == 1;
      const auto text = [&](int number) {
        return padded ? absl::StrCat(absl::Dec(number, absl::kZeroPad4))
                      : absl::StrCat(number);
      };
      entries.push_back(
          absl::StrCat(prefix, "[", text(first), "-", text(last), "]"));
      counts.push_back(absl::StrCat(slots, "(x", last - first + 1, ")"));
      for (int number = first; number <= last; ++number) {
        hosts.push_back({absl::StrCat(prefix, text(number)), slots});
      }
    }
    EXPECT_EQ(slurm_hosts_of(allocation_of(absl::StrJoin(entries, ","),
                                           absl::StrJoin(counts, ","))),
              hosts);
  }
}

// Any text is read or refused.
TEST(Slurm, SurvivesAnyText) {
  std::mt19937 random(2);
  const std::string letters = "n01-,[]()x ";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (auto left = random() % 12; left > 0; --left) {
      text += letters[random() % letters.size()];
    }
    const auto nodes = expand_nodes(text);
    if (nodes.ok()) {
      EXPECT_FALSE(nodes->empty()) << text;
    }
    const auto counts = expand_counts(text);
    if (counts.ok()) {
      EXPECT_FALSE(counts->empty()) << text;
    }
  }
}

TEST(Slurm, HasTheHostsAndTasksOfTheAllocation) {
  EXPECT_THAT(slurm_hosts_of(allocation_of("n[1-2]", "2,1")),
              ElementsAre(Host{"n1", 2}, Host{"n2", 1}));
  EXPECT_THAT(slurm_hosts_of({{"PATH", "/bin"}}), ElementsAre());
  EXPECT_THAT(slurm_hosts_of({{"SLURM_JOB_ID", "17"}}), ElementsAre());
  // The node that the script runs on, under any name.
  Environment script = allocation_of("n1", "2");
  script["SLURMD_NODENAME"] = "n1";
  EXPECT_THAT(slurm_hosts_of(script), ElementsAre(Host{"localhost", 2}));
}

TEST(Slurm, HasTheStepsHostsWithinASmallerStep) {
  Environment step = allocation_of("n[1-2]", "1");
  step.insert({{"SLURM_STEP_NODELIST", "n2"},
               {"SLURM_STEP_TASKS_PER_NODE", "1"},
               {"SLURM_STEP_NUM_TASKS", "1"}});
  EXPECT_THAT(slurm_hosts_of(step), ElementsAre(Host{"n2", 1}));
  step["SLURM_STEP_TASKS_PER_NODE"] = "1,1";
  EXPECT_THAT(slurm_hosts(step).status().ToString(),
              HasSubstr("name different numbers of nodes; name the hosts by "
                        "-H"));
}

TEST(Slurm, RefusesToStartSeveralLaunchers) {
  Environment task = allocation_of("n[1-2]", "2,1");
  task["SLURM_STEP_NUM_TASKS"] = "3";
  EXPECT_THAT(slurm_hosts(task).status().ToString(),
              HasSubstr("srun started horovodrun as 3 tasks, each of which "
                        "would start all ranks; start it once"));
  // srun --pty, whose first task has the terminal.
  task["SLURM_PTY_PORT"] = "4711";
  EXPECT_EQ(slurm_hosts_of(task).size(), 2);
}

TEST(Slurm, NamesWhatItCannotRead) {
  EXPECT_THAT(slurm_hosts(allocation_of("n[1", "2")).status().ToString(),
              HasSubstr("SLURM_JOB_NODELIST: 'n[1' is not a list of nodes"));
  EXPECT_THAT(slurm_hosts(allocation_of("n1", "two")).status().ToString(),
              HasSubstr("SLURM_TASKS_PER_NODE: 'two' is not a list of tasks"));
  Environment parts = allocation_of("n1", "2");
  parts["SLURM_HET_SIZE"] = "2";
  EXPECT_THAT(slurm_hosts(parts).status().ToString(),
              HasSubstr("this job of Slurm is heterogeneous"));
}

}  // namespace
}  // namespace hvd::launcher
