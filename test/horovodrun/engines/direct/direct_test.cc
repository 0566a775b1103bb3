// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "horovodrun/engines/engine.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<StartPlan> plan_of(const std::function<void(Arguments&)>& change,
                                  const Environment& environment = {
                                      {"PATH", "/bin:/usr/bin"},
                                      {"OMPI_MCA_plm_rsh_agent", "true"}}) {
  Arguments arguments;
  arguments.engine = "direct";
  arguments.ranks = 4;
  arguments.command = {"./train", "--lr", "0.1"};
  change(arguments);
  return plan_start(arguments, {.agent = "/opt/bin/horovodrun",
                                .token = "cafe",
                                .host_name = "here",
                                .environment = environment});
}

const Environment kCommon = {{"HOROVODRUN_TOKEN", "cafe"},
                             {"HOROVOD_LAUNCHER", "horovodrun"},
                             {"HOROVOD_SIZE", "4"}};

TEST(DirectEngine, StartsRanksOfThisHostWithoutARemoteShell) {
  for (const auto& hosts : {std::vector<Host>{}, {{"localhost", 4}}}) {
    const auto plan = plan_of([&](Arguments& a) { a.hosts = hosts; });
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(shell_quoted(plan->argv),
              "/opt/bin/horovodrun --start-ranks localhost:4 0 "
              "/opt/bin/horovodrun --agent -- ./train --lr 0.1");
    EXPECT_EQ(plan->added, kCommon);
    EXPECT_TRUE(plan->remote_shell.empty());
    EXPECT_FALSE(plan->hosts_need_connections);
  }
}

TEST(DirectEngine, StartsRanksOfOtherHostsByTheRemoteShell) {
  const auto plan = plan_of([](Arguments& a) {
    a.hosts = {{"here", 1}, {"there", 3}};
    a.settings["OMPI_MCA_plm_rsh_args"] = "-p 2222";
    a.network_interfaces = {"eth0", "ib0"};
  });
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(shell_quoted(plan->argv),
            "/opt/bin/horovodrun --start-ranks here:1,there:3 3 true -p 2222 "
            "/opt/bin/horovodrun --agent -- ./train --lr 0.1");
  EXPECT_EQ(plan->remote_shell,
            (std::vector<std::string>{"true", "-p", "2222"}));
  EXPECT_TRUE(plan->hosts_need_connections);
  EXPECT_EQ(plan->added.at("HOROVODPP_INTERFACES"), "eth0,ib0");
  EXPECT_EQ(plan->added.at("NCCL_SOCKET_IFNAME"), "eth0,ib0");
}

TEST(DirectEngine, LetsSshAskNoQuestions) {
  const auto plan = plan_of(
      [](Arguments& a) {
        a.hosts = {{"there", 4}};
      },
      {{"PATH", "/bin:/usr/bin"}});
  if (absl::IsNotFound(plan.status())) GTEST_SKIP() << "no ssh is installed";
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(shell_quoted(plan->argv),
              HasSubstr("--start-ranks there:4 7 ssh -x -T -o BatchMode=yes -o "
                        "ConnectTimeout=4 /opt/bin/horovodrun"));
}

TEST(DirectEngine, NeedsARemoteShellForOtherHosts) {
  const auto plan = plan_of([](Arguments& a) { a.hosts = {{"there", 4}}; }, {});
  EXPECT_THAT(plan.status().ToString(),
              HasSubstr("NOT_FOUND: there is no ssh on the PATH"));
}

TEST(DirectEngine, ConnectsBySrunWithinAnAllocation) {
  const std::string folder = testing::TempDir() + "/direct_test_srun";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file("/bin/true", folder + "/srun",
                             std::filesystem::copy_options::overwrite_existing);
  Environment environment = {{"PATH", folder}, {"SLURM_JOB_ID", "7"}};
  const auto two_hosts = [](Arguments& a) {
    a.hosts = {{"here", 1}, {"there", 3}};
  };
  const auto plan = plan_of(two_hosts, environment);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(shell_quoted(plan->argv),
              HasSubstr("--start-ranks here:1,there:3 11 srun --nodes=1 "
                        "--ntasks=1 --overlap --mpi=none"));
  EXPECT_TRUE(plan->remote_shell.empty());
  environment["OMPI_MCA_plm_rsh_agent"] = "/bin/true";
  const auto by_agent = plan_of(two_hosts, environment);
  ASSERT_TRUE(by_agent.ok()) << by_agent.status();
  EXPECT_EQ(by_agent->remote_shell, std::vector<std::string>{"/bin/true"});
}

TEST(DirectEngine, RefusesArgumentsForMpi) {
  EXPECT_THAT(
      plan_of([](Arguments& a) { a.mpi_arguments = {"-x"}; })
          .status()
          .ToString(),
      HasSubstr("INVALID_ARGUMENT: without MPI there is no --mpi-args or "
                "--binding-args: leave it out, or start the ranks by mpirun "
                "(--mpi)"));
}

TEST(DirectEngine, RefusesAHostThatIsNamedTwice) {
  EXPECT_THAT(
      plan_of([](Arguments& a) {
        a.hosts = {{"b", 1}, {"here", 2}, {"b", 1}};
      })
          .status()
          .ToString(),
      HasSubstr("INVALID_ARGUMENT: host 'b' is named twice; give all its slots "
                "at once, as in b:2"));
}

}  // namespace
}  // namespace hvd::launcher
