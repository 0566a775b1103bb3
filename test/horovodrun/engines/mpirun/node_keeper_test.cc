// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/mpirun/node_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "test/horovodrun/test_process.h"

namespace hvd::launcher {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

TEST(NodeKeeper, RunsACommandUnchanged) {
  TestProcess process(
      {"sh", "-c",
       under_keeper(HVD_HOROVODRUN, "A='b  c' ; echo \"$A\" '$A'")});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.out, "b  c $A\n");
  EXPECT_EQ(outcome.code, 0);
}

TEST(NodeKeeper, EndsAsTheDaemonDoes) {
  const auto code_of = [](const std::string& command) {
    TestProcess process({HVD_HOROVODRUN, "--node", command});
    return process.wait().code;
  };
  EXPECT_EQ(code_of("exit 7"), 7);
  // The code that ssh would return.
  EXPECT_EQ(code_of("kill -9 $$"), 255);
}

TEST(NodeKeeper, RemovesTheDaemonsFilesAfterAnyEnd) {
  for (const char* end : {"true", "kill -9 $$"}) {
    TestProcess process(
        {HVD_HOROVODRUN, "--node",
         std::string("set -e; d=$(printenv | sed -n 's/.*_tmpdir_[a-z]*=//p'); "
                     "mkdir $d/a; echo x > $d/a/b; cat $d/a/b; echo $d; ") +
             end},
        {{"TMPDIR", testing::TempDir()}});
    std::string out = process.wait().out;
    ASSERT_THAT(out, StartsWith("x\n" + testing::TempDir()));
    out.pop_back();
    EXPECT_FALSE(std::filesystem::exists(out.substr(2)));
  }
}

TEST(NodeKeeper, KeepsTheUsersFolder) {
  TestProcess process(
      {HVD_HOROVODRUN, "--node",
       "echo $OMPI_MCA_orte_tmpdir_base; : -mca orte_tmpdir_base /x"});
  EXPECT_EQ(process.wait().out, "\n");
}

TEST(NodeKeeper, EndsADaemonWithoutRanksOnceItsConnectionIsGone) {
  TestProcess process({"sh", "-c",
                       under_keeper(HVD_HOROVODRUN, "echo up; exec sleep 1000")
                               .substr(sizeof "exec") +
                           " & wait"});
  ASSERT_TRUE(process.wait_for("up"));
  process.send(SIGKILL);
  process.wait_for_exit();
  EXPECT_TRUE(process.all_gone());
}

TEST(NodeKeeper, TakesItsDaemonAlong) {
  TestProcess process({HVD_HOROVODRUN, "--node", "echo up; exec sleep 1000"});
  ASSERT_TRUE(process.wait_for("up"));
  process.send(SIGKILL);
  process.wait_for_exit();
  EXPECT_TRUE(process.all_gone());
}

TEST(NodeKeeper, LeavesRanksTimeToEnd) {
  // A process that runs horovodrun counts as a rank: this one waits for its
  // command.
  TestProcess process(
      {"sh", "-c",
       under_keeper(HVD_HOROVODRUN, std::string(HVD_HOROVODRUN) +
                                        " --node 'echo up; sleep 1; echo done'")
               .substr(sizeof "exec") +
           " & wait"});
  ASSERT_TRUE(process.wait_for("up"));
  process.send(SIGKILL);
  EXPECT_THAT(process.wait().out, EndsWith("done\n"));
  EXPECT_TRUE(process.all_gone());
}

}  // namespace
}  // namespace hvd::launcher
