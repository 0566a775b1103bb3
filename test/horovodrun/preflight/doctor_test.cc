// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hvd::launcher {
namespace {

using ::testing::HasSubstr;
using Level = Finding::Level;

HostAnswer well(const std::string& host) {
  return {.host = host,
          .facts = HostFacts{.version = "0.1.0",
                             .host = host,
                             .mpi = "mpirun (Open MPI) 4.1.4",
                             .cores = 8,
                             .memory = std::int64_t{16} << 30,
                             .shared_memory = std::int64_t{8} << 30,
                             .open_files = 4096,
                             .clock = 1}};
}

Finding finding(const HostAnswers& answers, const std::string& host,
                const std::string& subject) {
  const std::vector<Finding> all = findings_of(answers);
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) {
    return one.host == host && one.subject == subject;
  });
  EXPECT_NE(found, all.end()) << host << " " << subject;
  return found == all.end() ? Finding() : *found;
}

TEST(Doctor, FindsNothingWrongWithEqualHosts) {
  HostAnswers answers = {.hosts = {well("a"), well("b")},
                         .have_one_network = true};
  for (const Finding& one : findings_of(answers)) {
    EXPECT_EQ(one.level, Level::kOk) << one.host << " " << one.subject;
  }
  answers.have_one_network = false;
  EXPECT_EQ(finding(answers, "all", "network").level, Level::kWarning);
  answers.networks = {{0x0a000000, 24}};
  EXPECT_THAT(finding(answers, "all", "network").text,
              HasSubstr("10.0.0.0/24"));
}

TEST(Doctor, SaysOfEachHostWhatToFix) {
  HostAnswers answers = {.hosts = {well("a"), well("b"), {.host = "c"}}};
  answers.hosts[1].facts->mpi = "none";
  answers.hosts[2].problem = "host 'c' cannot be reached";
  EXPECT_EQ(finding(answers, "b", "MPI").level, Level::kFix);
  EXPECT_EQ(finding(answers, "c", "start").level, Level::kFix);
  EXPECT_EQ(finding(answers, "c", "start").text, "host 'c' cannot be reached");
  EXPECT_EQ(finding(answers, "a", "start").level, Level::kOk);
}

TEST(Doctor, WarnsOfWhatMayHarm) {
  HostAnswers answers = {.hosts = {well("a"), well("b")}};
  answers.hosts[1].facts->mpi = "mpirun (Open MPI) 5.0.1";
  answers.hosts[1].facts->shared_memory = 64 << 20;
  answers.hosts[1].facts->open_files = 256;
  answers.hosts[1].clock_skew = -60'000'000;
  for (const char* subject : {"MPI", "shared memory", "open files", "clock"}) {
    EXPECT_EQ(finding(answers, "b", subject).level, Level::kWarning) << subject;
  }
  EXPECT_THAT(finding(answers, "b", "clock").text, HasSubstr("-60 s"));
}

TEST(Doctor, WritesATableAndJson) {
  const std::vector<Finding> findings = {
      {"a", "MPI", Level::kOk, "Open MPI"},
      {"bb", "open files", Level::kWarning, "say \"more\"\n\\"}};
  EXPECT_EQ(to_table(findings),
            "a   MPI         ok       Open MPI\n"
            "bb  open files  warning  say \"more\"\n\\\n");
  EXPECT_EQ(to_json(findings),
            "[{\"host\": \"a\", \"subject\": \"MPI\", \"level\": \"ok\", "
            "\"text\": \"Open MPI\"},\n"
            " {\"host\": \"bb\", \"subject\": \"open files\", \"level\": "
            "\"warning\", \"text\": \"say \\\"more\\\" \\\\\"}]\n");
}

TEST(Doctor, RefusesWrongWords) {
  EXPECT_EQ(run_doctor({"--what"}, {}), 2);
  EXPECT_EQ(run_doctor({"-H"}, {}), 2);
  EXPECT_EQ(run_doctor({"-H", "a"}, {}), 2);
  EXPECT_EQ(run_doctor({"--hostfile", "/no such file"}, {}), 2);
}

}  // namespace
}  // namespace hvd::launcher
