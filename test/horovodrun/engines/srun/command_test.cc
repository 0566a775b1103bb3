// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/srun/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const LaunchContext kNode = {.agent = "/opt/bin/horovodrun",
                             .token = "cafe",
                             .host_name = "here",
                             .environment = {{"SLURMD_NODENAME", "n1"}}};
const std::string kAgentOfRank =
    " /opt/bin/horovodrun --agent -- ./train --lr 0.1";

Arguments step_of(std::vector<Host> hosts) {
  Arguments arguments;
  arguments.ranks = slots_of(hosts);
  arguments.hosts = std::move(hosts);
  arguments.command = {"./train", "--lr", "0.1"};
  return arguments;
}

StartPlan step_plan(const Arguments& arguments) {
  const auto plan = srun_plan(arguments, kNode, 71, "pmix");
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *plan : StartPlan();
}

std::string step_command(const Arguments& arguments) {
  return shell_quoted(step_plan(arguments).argv);
}

TEST(SrunCommand, IsExactlyThis) {
  const std::string options =
      " --distribution=arbitrary --overcommit --overlap --cpu-bind=none "
      "--kill-on-bad-exit=0 --wait=0 --input=0 --export=ALL --quiet "
      "--job-name=horovodrun.71";
  EXPECT_EQ(step_command(step_of({{"localhost", 2}})),
            "srun --ntasks=2 --nodes=1 --nodelist=n1,n1" + options +
                " --mpi=none" + kAgentOfRank);
  Arguments arguments = step_of({{"a", 2}, {"b", 1}});
  EXPECT_EQ(step_command(arguments),
            "srun --ntasks=3 --nodes=2 --nodelist=a,a,b" + options +
                " --mpi=pmix" + kAgentOfRank);
  // --mpi-args are srun's here.
  arguments.mpi_arguments = {"--mpi=pmi2", "--label"};
  EXPECT_EQ(step_command(arguments),
            "srun --ntasks=3 --nodes=2 --nodelist=a,a,b" + options +
                " --mpi=pmi2 --label" + kAgentOfRank);
}

TEST(SrunCommand, AddsExactlyTheseVariables) {
  Environment added = {{"HOROVODRUN_STEP", "sockets"},
                       {"HOROVODRUN_TOKEN", "cafe"},
                       {"HOROVOD_LAUNCHER", "horovodrun"},
                       {"HOROVOD_SIZE", "2"}};
  EXPECT_EQ(step_plan(step_of({{"n1", 2}})).added, added);
  Arguments arguments = step_of({{"n1", 2}});
  arguments.mpi_arguments = {"--mpi=pmix"};
  added["HOROVODRUN_STEP"] = "mpi";
  EXPECT_EQ(step_plan(arguments).added, added);
  arguments = step_of({{"a", 1}, {"b", 1}});
  arguments.network_interfaces = {"ib0", "ib1"};
  added["OMPI_MCA_btl_tcp_if_include"] = "ib0,ib1";
  added["NCCL_SOCKET_IFNAME"] = "ib0,ib1";
  EXPECT_EQ(step_plan(arguments).added, added);
}

TEST(SrunCommand, SaysWhatIsNotAvailable) {
  const auto error_of = [](const Arguments& arguments) {
    return srun_plan(arguments, kNode, 71, "pmix").status().ToString();
  };
  EXPECT_THAT(error_of(step_of({})), HasSubstr("name them by -H"));
}

TEST(SrunEngine, NeedsAnAllocation) {
  Arguments arguments = step_of({{"n1", 2}});
  arguments.engine = "srun";
  LaunchContext context = kNode;
  const auto error = [&] {
    return plan_start(arguments, context).status().ToString();
  };
  context.environment = {{"PATH", "/nowhere"}, {"SLURM_JOB_ID", "1"}};
  EXPECT_THAT(error(), HasSubstr("there is no srun on the PATH"));
}

TEST(SrunEngine, TellsARankItsPlaceAndItsMeeting) {
  const Environment task = {
      {"HOROVODRUN_STEP", "sockets"}, {"HOROVODRUN_TOKEN", "cafe"},
      {"SLURM_PROCID", "4"},          {"SLURM_LOCALID", "1"},
      {"SLURM_NODEID", "2"},          {"SLURM_STEP_TASKS_PER_NODE", "1,2(x2)"}};
  const Engine& srun = *engine_of_rank(task);
  const auto place = srun.place(task);
  EXPECT_EQ(place->rank, 4);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_EQ(place->local_size, 2);
  EXPECT_EQ(srun.variables_of_rank(task),
            (Environment{{"HOROVODPP_RENDEZVOUS", "horovodrun.cafe"},
                         {"HOROVOD_RANK", "4"},
                         {"HOROVOD_LOCAL_RANK", "1"},
                         {"HOROVOD_LOCAL_SIZE", "2"}}));
  Environment with_mpi = task;
  with_mpi["HOROVODRUN_STEP"] = "mpi";
  EXPECT_EQ(srun.variables_of_rank(with_mpi), Environment());
}

TEST(SrunEngine, PassesSignalsThroughSrun) {
  const Engine& srun =
      *engine_of_rank({{"HOROVODRUN_STEP", "sockets"}, {"SLURM_PROCID", "0"}});
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    EXPECT_EQ(srun.disguise(signal), SIGALRM);
  }
  EXPECT_EQ(srun.signal_for_command(SIGALRM, {}), SIGTERM);
  for (const int signal : {SIGUSR1, SIGUSR2}) {
    EXPECT_EQ(srun.signal_for_command(srun.disguise(signal), {}), signal);
  }
}

TEST(SrunEngine, FindsItsStep) {
  EXPECT_THAT(steps_named("horovodrun.71",
                          "5.0 bash\n5.1 horovodrun.71\n5.2 horovodrun.7\n"
                          "5.batch batch\n6.0 horovodrun.71\n"),
              ElementsAre("5.1", "6.0"));
  EXPECT_THAT(steps_named("horovodrun.71", ""), ElementsAre());
}

}  // namespace
}  // namespace hvd::launcher
