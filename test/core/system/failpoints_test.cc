// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/system/failpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <set>
#include <string>

#include "test/support/temporary_folder.h"

namespace hvd {
namespace {

using ::testing::HasSubstr;

class Failpoints : public ::testing::Test {
 protected:
  ~Failpoints() override { set_failpoints("", 0).IgnoreError(); }
};

TEST_F(Failpoints, HaveDistinctNames) {
  std::set<std::string> names;
  for (int i = 0; i < static_cast<int>(Failpoint::kCount); ++i) {
    names.insert(name_of(static_cast<Failpoint>(i)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Failpoint::kCount));
}

TEST_F(Failpoints, DoNothingWithoutASchedule) {
  EXPECT_TRUE(pass_failpoint(Failpoint::kReformBegun).ok());
}

TEST_F(Failpoints, ReturnAnErrorAtOnePass) {
  ASSERT_TRUE(set_failpoints("reform.begun=error@2", 0).ok());
  EXPECT_TRUE(pass_failpoint(Failpoint::kReformBegun).ok());
  EXPECT_TRUE(pass_failpoint(Failpoint::kReformAgreed).ok());
  const absl::Status second = pass_failpoint(Failpoint::kReformBegun);
  EXPECT_THAT(std::string(second.message()), HasSubstr("reform.begun"));
  EXPECT_TRUE(pass_failpoint(Failpoint::kReformBegun).ok());
}

TEST_F(Failpoints, ActOnOneRankOnly) {
  ASSERT_TRUE(set_failpoints("init.met=error#1", 0).ok());
  EXPECT_TRUE(pass_failpoint(Failpoint::kInitMet).ok());
  ASSERT_TRUE(set_failpoints("init.met=error#1", 1).ok());
  EXPECT_FALSE(pass_failpoint(Failpoint::kInitMet).ok());
}

TEST_F(Failpoints, AreReadFromAFile) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("schedule"))
      << "# Two entries\n\n  init.met=error@1\nreform.begun=error ; seed=3\n";
  ASSERT_TRUE(set_failpoints("@" + folder.path("schedule"), 0).ok());
  EXPECT_FALSE(pass_failpoint(Failpoint::kInitMet).ok());
  EXPECT_TRUE(pass_failpoint(Failpoint::kInitMet).ok());
  EXPECT_FALSE(pass_failpoint(Failpoint::kReformBegun).ok());
  const absl::Status missing = set_failpoints("@" + folder.path("none"), 0);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("/none'"));
}

// The number of errors of a thousand passes.
int errors_with(const std::string& schedule) {
  EXPECT_TRUE(set_failpoints(schedule, 0).ok());
  int errors = 0;
  for (int i = 0; i < 1000; ++i) {
    errors += pass_failpoint(Failpoint::kInitMet).ok() ? 0 : 1;
  }
  return errors;
}

TEST_F(Failpoints, DrawFromTheSeed) {
  const int errors = errors_with("init.met=error%0.25;seed=3");
  EXPECT_GT(errors, 150);
  EXPECT_LT(errors, 350);
  EXPECT_EQ(errors_with("init.met=error%0.25;seed=3"), errors);
  EXPECT_EQ(errors_with("init.met=error%0"), 0);
}

using FailpointsDeathTest = Failpoints;

TEST_F(FailpointsDeathTest, EndTheProcess) {
  ASSERT_TRUE(set_failpoints("init.met=kill;grow.met=exit:7", 0).ok());
  EXPECT_EXIT(pass_failpoint(Failpoint::kInitMet).IgnoreError(),
              ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(pass_failpoint(Failpoint::kGrowMet).IgnoreError(),
              ::testing::ExitedWithCode(7), "");
}

TEST_F(Failpoints, RefuseAScheduleThatCannotBeRead) {
  for (const char* const schedule :
       {"nowhere=kill", "init.met", "init.met=", "init.met=explode",
        "init.met=exit", "init.met=exit:x", "init.met=delay:-1",
        "init.met=kill@", "init.met=kill@x", "init.met=kill%2",
        "init.met=kill#", "seed=x"}) {
    const absl::Status status = set_failpoints(schedule, 0);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << schedule;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("HOROVODPP_FAILPOINTS: '"));
  }
  EXPECT_TRUE(pass_failpoint(Failpoint::kInitMet).ok());
}

}  // namespace
}  // namespace hvd
