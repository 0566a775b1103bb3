// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/mpirun/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using enum MpiFlavor;

const LaunchContext kHere = {.agent = "/opt/bin/horovodrun",
                             .token = "cafe",
                             .host_name = "here",
                             .environment = {{"PATH", "/bin"}, {"PWD", "/"}}};

Arguments job_of(int ranks, std::vector<Host> hosts = {}) {
  Arguments arguments;
  arguments.ranks = ranks;
  arguments.hosts = std::move(hosts);
  arguments.command = {"./train", "--lr", "0.1"};
  return arguments;
}

StartPlan plan_for(MpiFlavor flavor, const Arguments& arguments,
                   const LaunchContext& context = kHere) {
  const auto plan = mpirun_plan(flavor, arguments, context);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *plan : StartPlan();
}

Environment added_for(MpiFlavor flavor, const Arguments& arguments,
                      const LaunchContext& context = kHere) {
  return plan_for(flavor, arguments, context).added;
}

TEST(MpirunCommand, IsExactlyThisForEachFlavor) {
  const std::string agent = " /opt/bin/horovodrun --agent -- ./train --lr 0.1";
  const auto command = [](MpiFlavor flavor, const Arguments& arguments) {
    return shell_quoted(plan_for(flavor, arguments).argv);
  };
  EXPECT_EQ(command(kOpenMpi4, job_of(4)),
            "mpirun -np 4 -H localhost:4" + agent);
  EXPECT_EQ(command(kIntel, job_of(3, {{"a", 2}, {"b", 1}})),
            "mpirun -np 3 -hosts a,b -ppn 2" + agent);
  Arguments arguments = job_of(2, {{"here", 2}});
  arguments.output_filename = "logs";
  EXPECT_EQ(command(kOpenMpi5, arguments),
            "mpirun -np 2 -H here:2 --enable-recovery" + agent);
  arguments = job_of(4, {{"a", 2}, {"b", 2}});
  arguments.verbose = true;
  arguments.output_filename = "logs";
  arguments.mpi_arguments = {"--tag-output"};
  EXPECT_EQ(command(kOpenMpi4, arguments),
            "mpirun -np 4 -H a:2,b:2 -x HOROVODRUN_FILES -x "
            "HOROVODRUN_TOKEN -x HOROVOD_LAUNCHER -x HOROVOD_SIZE -x PATH "
            "--tag-output /opt/bin/horovodrun --agent --verbose -- ./train "
            "--lr 0.1");
  arguments = job_of(3, {{"a", 1}, {"b", 2}});
  arguments.network_interfaces = {"eth0"};
  EXPECT_EQ(
      command(kMpich, arguments),
      "mpirun -np 3 -hosts a:1,b:2 -disable-auto-cleanup -iface eth0" + agent);
}

TEST(MpirunCommand, AddsExactlyTheseVariables) {
  Environment added = {{"HOROVODRUN_TOKEN", "cafe"},
                       {"HOROVOD_LAUNCHER", "horovodrun"},
                       {"HOROVOD_SIZE", "4"}};
  EXPECT_EQ(added_for(kMpich, job_of(4)), added);
  added.insert(
      {{"OMPI_MCA_hwloc_base_binding_policy", "none"},
       {"OMPI_MCA_orte_enable_recovery", "1"},
       {"OMPI_MCA_orte_keep_fqdn_hostnames", "1"},
       {"OMPI_MCA_rmaps_base_mapping_policy", "slot"},
       {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
       {"PRTE_MCA_hwloc_default_binding_policy", "none"},
       {"PRTE_MCA_rmaps_default_mapping_policy", "slot:oversubscribe"}});
  EXPECT_EQ(added_for(kOpenMpi4, job_of(4)), added);
  LaunchContext root = kHere;
  root.root = true;
  added.insert({{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                {"PRTE_ALLOW_RUN_AS_ROOT", "1"},
                {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
  EXPECT_EQ(added_for(kOpenMpi4, job_of(4), root), added);
}

TEST(MpirunCommand, KeepsIntelMpiFromBindingRanksAndEndingSurvivors) {
  EXPECT_THAT(added_for(kIntel, job_of(2)),
              IsSupersetOf(Environment{{"I_MPI_FAULT_CONTINUE", "on"},
                                       {"I_MPI_PIN", "off"}}));
}

TEST(MpirunCommand, PrefersTheUsersVariablesButNotToOptions) {
  LaunchContext context = kHere;
  context.environment.insert({{"I_MPI_PIN", "on"},
                              {"OMPI_MCA_hwloc_base_binding_policy", "core"},
                              {"HOROVOD_SIZE", "17"},
                              {"HOROVOD_HIERARCHICAL_ALLREDUCE", "1"}});
  Arguments arguments = job_of(2, {{"a", 1}, {"b", 1}});
  arguments.settings = {{"HOROVOD_HIERARCHICAL_ALLREDUCE", "0"}};
  const StartPlan plan = plan_for(kOpenMpi4, arguments, context);
  EXPECT_THAT(plan.added,
              Not(Contains(Key("OMPI_MCA_hwloc_base_binding_policy"))));
  EXPECT_EQ(plan.added.at("HOROVOD_SIZE"), "2");
  EXPECT_EQ(plan.added.at("HOROVOD_HIERARCHICAL_ALLREDUCE"), "0");
  EXPECT_THAT(plan.argv, Contains("HOROVOD_HIERARCHICAL_ALLREDUCE"));
  EXPECT_FALSE(added_for(kIntel, job_of(2), context).contains("I_MPI_PIN"));
}

TEST(MpirunCommand, RefusesUnsupportedOptionsByName) {
  const auto refusal = [](MpiFlavor flavor, const Arguments& arguments) {
    return mpirun_plan(flavor, arguments, kHere).status().ToString();
  };
  EXPECT_THAT(refusal(kIntel, job_of(4, {{"a", 1}, {"b", 2}, {"c", 1}})),
              HasSubstr("'a' has 1 and 'b' has 2"));
  Arguments arguments = job_of(2);
  arguments.network_interfaces = {"eth0", "eth1"};
  EXPECT_THAT(refusal(kMpich, arguments),
              HasSubstr("INVALID_ARGUMENT: MPICH and Intel MPI take one"));
}

TEST(MpirunCommand, BindsAllTrafficToTheInterfaces) {
  Arguments arguments = job_of(2);
  arguments.network_interfaces = {"eth0", "ib0"};
  EXPECT_THAT(
      added_for(kOpenMpi5, arguments),
      IsSupersetOf(Environment{{"OMPI_MCA_btl_tcp_if_include", "eth0,ib0"},
                               {"OMPI_MCA_oob_tcp_if_include", "eth0,ib0"},
                               {"PRTE_MCA_prte_if_include", "eth0,ib0"},
                               {"NCCL_SOCKET_IFNAME", "eth0,ib0"}}));
}

TEST(MpirunCommand, UsesTheLoopbackForAJobOnThisHost) {
  LaunchContext context = kHere;
  context.has_loopback = true;
  const char* const oob = "OMPI_MCA_oob_tcp_if_include";
  const char* const btl = "OMPI_MCA_btl_tcp_if_include";
  Environment added = added_for(kOpenMpi4, job_of(2), context);
  EXPECT_EQ(added.at(oob), "lo");
  EXPECT_EQ(added.at(btl), "lo");
  added = added_for(kOpenMpi4, job_of(2, {{"a", 1}, {"b", 1}}), context);
  EXPECT_FALSE(added.contains(oob));
  Arguments arguments = job_of(2);
  arguments.mpi_arguments = {"--mca", "oob_tcp_if_exclude", "eth0"};
  context.environment["OMPI_MCA_btl_tcp_if_exclude"] = "eth0";
  added = added_for(kOpenMpi4, arguments, context);
  EXPECT_FALSE(added.contains(oob) || added.contains(btl));
}

TEST(MpirunCommand, GivesAgentsTheFolderForOutputByItsFullPath) {
  Arguments arguments = job_of(2);
  arguments.output_filename = "/var/logs";
  const StartPlan plan = plan_for(kMpich, arguments);
  EXPECT_TRUE(plan.reads_ranks);
  EXPECT_EQ(plan.added.at("HOROVODRUN_FILES"), "/var/logs");
  arguments.output_filename = "logs";
  EXPECT_EQ(plan_for(kOpenMpi4, arguments).added.at("HOROVODRUN_FILES"),
            std::filesystem::current_path() / "logs");
}

TEST(MpirunCommand, BindsTrafficToNetworksInsteadOfInterfacesOfSomeHosts) {
  LaunchContext context = kHere;
  context.networks = {"10.0.0.0/24", "10.0.1.0/24"};
  Arguments arguments = job_of(2, {{"a", 1}, {"b", 1}});
  arguments.network_interfaces = {"eA", "ethB0"};
  EXPECT_THAT(added_for(kOpenMpi4, arguments, context),
              IsSupersetOf(Environment{
                  {"OMPI_MCA_btl_tcp_if_include", "10.0.0.0/24,10.0.1.0/24"},
                  {"OMPI_MCA_oob_tcp_if_include", "10.0.0.0/24,10.0.1.0/24"},
                  {"NCCL_SOCKET_IFNAME", "eA,ethB0"}}));
}

TEST(MpirunCommand, LeavesTheChoiceOfNetworksToTheUsersSettings) {
  LaunchContext context = kHere;
  Arguments arguments = job_of(2, {{"a", 1}, {"b", 1}});
  EXPECT_TRUE(plan_for(kOpenMpi4, arguments, context).takes_networks);
  EXPECT_FALSE(plan_for(kMpich, arguments, context).takes_networks);
  context.environment["OMPI_MCA_btl_tcp_if_exclude"] = "docker0";
  EXPECT_FALSE(plan_for(kOpenMpi4, arguments, context).takes_networks);
}

TEST(MpirunCommand, StartsTheUsersRemoteShellFromItsOwn) {
  LaunchContext context = kHere;
  context.environment["OMPI_MCA_plm_rsh_agent"] = "no-such : /bin/sh -c";
  EXPECT_EQ(added_for(kOpenMpi4, job_of(2, {{"a", 1}, {"b", 1}}), context)
                .at("OMPI_MCA_plm_rsh_agent"),
            "/opt/bin/horovodrun --remote-shell 2 /bin/sh -c");
}

TEST(MpirunCommand, LeavesOutputToMpirunIfOptionsAskForIt) {
  EXPECT_TRUE(plan_for(kOpenMpi4, job_of(2)).reads_ranks);
  Arguments arguments = job_of(2);
  arguments.mpi_arguments = {"--xml"};
  EXPECT_FALSE(plan_for(kOpenMpi4, arguments).reads_ranks);
  LaunchContext context = kHere;
  context.environment["OMPI_MCA_orte_tag_output"] = "1";
  EXPECT_FALSE(plan_for(kOpenMpi4, job_of(2), context).reads_ranks);
}

TEST(MpirunCommand, LeavesOutputToAgentsOnOtherHosts) {
  Arguments arguments = job_of(2, {{"a", 1}, {"b", 1}});
  arguments.prefix = {.is_on = true, .has_time = true};
  arguments.output_filename = "/logs";
  arguments.log_limits = {.max_bytes = 1000, .files = 3};
  arguments.settings = {{"HOROVODRUN_SHOWN_RANKS", "0"}};
  for (const MpiFlavor flavor : {kOpenMpi4, kMpich}) {
    const StartPlan plan = plan_for(flavor, arguments);
    EXPECT_TRUE(plan.reads_ranks);
    EXPECT_THAT(plan.added,
                IsSupersetOf(Environment{{"HOROVODRUN_PREFIX", "pt"},
                                         {"HOROVODRUN_FILES", "/logs"},
                                         {"HOROVODRUN_LOG_BYTES", "1000"},
                                         {"HOROVODRUN_LOG_FILES", "3"},
                                         {"HOROVODRUN_SHOWN_RANKS", "0"}}));
  }
}

}  // namespace
}  // namespace hvd::launcher
