// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/mpirun/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hvd::launcher {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

const Surroundings kHere = {.agent = "/opt/bin/horovodrun",
                            .token = "cafe",
                            .host_name = "here",
                            .root = false,
                            .environment = {{"PATH", "/bin"}, {"PWD", "/"}}};

Arguments arguments_for(int ranks, std::vector<Host> hosts = {}) {
  Arguments arguments;
  arguments.ranks = ranks;
  arguments.hosts = std::move(hosts);
  arguments.command = {"./train", "--lr", "0.1"};
  return arguments;
}

MpirunCommand command_for(MpiFlavor flavor, const Arguments& arguments,
                          const Surroundings& surroundings = kHere) {
  const auto command = mpirun_command(flavor, arguments, surroundings);
  EXPECT_TRUE(command.ok()) << command.status();
  return command.ok() ? *command : MpirunCommand();
}

TEST(MpirunCommand, OfRanksThatNeedNoMpi) {
  const MpirunCommand command =
      command_for(MpiFlavor::kNone, arguments_for(4, {{"here", 4}}));
  EXPECT_THAT(command.argv, ElementsAre("/opt/bin/horovodrun", "--start-ranks",
                                        "4", "/opt/bin/horovodrun", "--agent",
                                        "--", "./train", "--lr", "0.1"));
  EXPECT_EQ(command.added, (Environment{{"HOROVODRUN_TOKEN", "cafe"},
                                        {"HOROVOD_LAUNCHER", "horovodrun"},
                                        {"HOROVOD_SIZE", "4"}}));
}

TEST(MpirunCommand, OfOpenMpi4OnThisHost) {
  const MpirunCommand command =
      command_for(MpiFlavor::kOpenMpi4, arguments_for(4));
  EXPECT_THAT(command.argv,
              ElementsAre("mpirun", "-np", "4", "-H", "localhost:4",
                          "/opt/bin/horovodrun", "--agent", "--", "./train",
                          "--lr", "0.1"));
  const Environment added = {
      {"HOROVODRUN_TOKEN", "cafe"},
      {"HOROVOD_LAUNCHER", "horovodrun"},
      {"HOROVOD_SIZE", "4"},
      {"OMPI_MCA_hwloc_base_binding_policy", "none"},
      {"OMPI_MCA_orte_enable_recovery", "1"},
      {"OMPI_MCA_orte_keep_fqdn_hostnames", "1"},
      {"OMPI_MCA_rmaps_base_mapping_policy", "slot"},
      {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
      {"PRTE_MCA_hwloc_default_binding_policy", "none"},
      {"PRTE_MCA_rmaps_default_mapping_policy", "slot:oversubscribe"}};
  EXPECT_EQ(command.added, added);
}

TEST(MpirunCommand, WhatOptionsSayBeatsTheEnvironment) {
  Surroundings surroundings = kHere;
  surroundings.environment["HOROVOD_HIERARCHICAL_ALLREDUCE"] = "1";
  Arguments arguments = arguments_for(2, {{"a", 1}, {"b", 1}});
  arguments.settings = {{"HOROVOD_HIERARCHICAL_ALLREDUCE", "0"}};
  const MpirunCommand command =
      command_for(MpiFlavor::kOpenMpi4, arguments, surroundings);
  EXPECT_EQ(command.added.at("HOROVOD_HIERARCHICAL_ALLREDUCE"), "0");
  EXPECT_THAT(command.argv, Contains("HOROVOD_HIERARCHICAL_ALLREDUCE"));
}

TEST(MpirunCommand, OfOpenMpi4OnSeveralHostsExportsTheEnvironment) {
  Arguments arguments = arguments_for(4, {{"a", 2}, {"b", 2}});
  arguments.verbose = true;
  arguments.output_filename = "logs";
  arguments.mpi_arguments = {"--tag-output"};
  EXPECT_THAT(
      command_for(MpiFlavor::kOpenMpi4, arguments).argv,
      ElementsAre("mpirun", "-np", "4", "-H", "a:2,b:2", "--output-filename",
                  "logs", "-x", "HOROVODRUN_TOKEN", "-x", "HOROVOD_LAUNCHER",
                  "-x", "HOROVOD_SIZE", "-x", "PATH", "--tag-output",
                  "/opt/bin/horovodrun", "--agent", "--verbose", "--",
                  "./train", "--lr", "0.1"));
}

TEST(MpirunCommand, OfOpenMpi5AsksForRecoveryByOption) {
  Arguments arguments = arguments_for(2, {{"here", 2}});
  arguments.output_filename = "logs";
  EXPECT_THAT(
      command_for(MpiFlavor::kOpenMpi5, arguments).argv,
      ElementsAre("mpirun", "-np", "2", "-H", "here:2", "--enable-recovery",
                  "--output", "dir=logs", "/opt/bin/horovodrun", "--agent",
                  "--", "./train", "--lr", "0.1"));
}

TEST(MpirunCommand, OfMpichOnUnequalHosts) {
  Arguments arguments = arguments_for(3, {{"a", 1}, {"b", 2}});
  arguments.network_interfaces = {"eth0"};
  arguments.output_filename = "out-%r";
  const MpirunCommand command = command_for(MpiFlavor::kMpich, arguments);
  EXPECT_THAT(command.argv,
              ElementsAre("mpirun", "-np", "3", "-hosts", "a:1,b:2",
                          "-disable-auto-cleanup", "-iface", "eth0",
                          "-outfile-pattern", "out-%r", "/opt/bin/horovodrun",
                          "--agent", "--", "./train", "--lr", "0.1"));
  const Environment added = {{"HOROVODRUN_TOKEN", "cafe"},
                             {"HOROVOD_LAUNCHER", "horovodrun"},
                             {"HOROVOD_SIZE", "3"}};
  EXPECT_EQ(command.added, added);
}

TEST(MpirunCommand, OfIntelMpiCountsRanksPerHost) {
  EXPECT_THAT(
      command_for(MpiFlavor::kIntel, arguments_for(3, {{"a", 2}, {"b", 1}}))
          .argv,
      ElementsAre("mpirun", "-np", "3", "-hosts", "a,b", "-ppn", "2",
                  "/opt/bin/horovodrun", "--agent", "--", "./train", "--lr",
                  "0.1"));
}

TEST(MpirunCommand, LetsIntelMpiNeitherBindRanksNorEndSurvivors) {
  Surroundings here = kHere;
  here.environment["I_MPI_PIN"] = "on";  // The user's setting wins.
  const Environment added =
      command_for(MpiFlavor::kIntel, arguments_for(2), here).added;
  EXPECT_EQ(added.at("I_MPI_FAULT_CONTINUE"), "on");
  EXPECT_FALSE(added.contains("I_MPI_PIN"));
  EXPECT_EQ(
      command_for(MpiFlavor::kIntel, arguments_for(2)).added.at("I_MPI_PIN"),
      "off");
}

TEST(MpirunCommand, RefusesWhatTheFlavorCannotDo) {
  const auto unequal =
      mpirun_command(MpiFlavor::kIntel,
                     arguments_for(4, {{"a", 1}, {"b", 2}, {"c", 1}}), kHere);
  EXPECT_THAT(std::string(unequal.status().message()),
              HasSubstr("'a' has 1 and 'b' has 2"));
  Arguments arguments = arguments_for(2);
  arguments.network_interfaces = {"eth0", "eth1"};
  EXPECT_EQ(mpirun_command(MpiFlavor::kMpich, arguments, kHere).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MpirunCommand, LetsRootRunInBothFamilies) {
  Surroundings root = kHere;
  root.root = true;
  const Environment added =
      command_for(MpiFlavor::kOpenMpi4, arguments_for(1), root).added;
  for (const char* name :
       {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
        "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"}) {
    EXPECT_EQ(added.at(name), "1");
  }
}

TEST(MpirunCommand, BindsAllTrafficToTheInterfaces) {
  Arguments arguments = arguments_for(2);
  arguments.network_interfaces = {"eth0", "ib0"};
  const Environment added = command_for(MpiFlavor::kOpenMpi5, arguments).added;
  for (const char* name :
       {"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include",
        "PRTE_MCA_prte_if_include", "NCCL_SOCKET_IFNAME"}) {
    EXPECT_EQ(added.at(name), "eth0,ib0");
  }
}

TEST(MpirunCommand, LeavesTheUsersSettingsAlone) {
  Surroundings surroundings = kHere;
  surroundings.environment["OMPI_MCA_hwloc_base_binding_policy"] = "core";
  surroundings.environment["HOROVOD_SIZE"] = "17";
  const Environment added =
      command_for(MpiFlavor::kOpenMpi4, arguments_for(2), surroundings).added;
  EXPECT_THAT(added, Not(Contains(Key("OMPI_MCA_hwloc_base_binding_policy"))));
  EXPECT_EQ(added.at("HOROVOD_SIZE"), "2");
}

TEST(MpirunCommand, TalksOverTheLoopbackIfTheJobIsOnThisHost) {
  Surroundings surroundings = kHere;
  surroundings.has_loopback = true;
  Environment added =
      command_for(MpiFlavor::kOpenMpi4, arguments_for(2), surroundings).added;
  EXPECT_EQ(added.at("OMPI_MCA_oob_tcp_if_include"), "lo");
  EXPECT_EQ(added.at("OMPI_MCA_btl_tcp_if_include"), "lo");
  added = command_for(MpiFlavor::kOpenMpi4,
                      arguments_for(2, {{"a", 1}, {"b", 1}}), surroundings)
              .added;
  EXPECT_THAT(added, Not(Contains(Key("OMPI_MCA_oob_tcp_if_include"))));
  Arguments arguments = arguments_for(2);
  arguments.mpi_arguments = {"--mca", "oob_tcp_if_exclude", "eth0"};
  surroundings.environment["OMPI_MCA_btl_tcp_if_exclude"] = "eth0";
  added = command_for(MpiFlavor::kOpenMpi4, arguments, surroundings).added;
  EXPECT_THAT(added, Not(Contains(Key("OMPI_MCA_oob_tcp_if_include"))));
  EXPECT_THAT(added, Not(Contains(Key("OMPI_MCA_btl_tcp_if_include"))));
}

TEST(MpirunCommand, StartsTheUsersRemoteShellFromItsOwn) {
  Surroundings surroundings = kHere;
  surroundings.environment["OMPI_MCA_plm_rsh_agent"] = "no-such : /bin/sh -c";
  EXPECT_EQ(command_for(MpiFlavor::kOpenMpi4,
                        arguments_for(2, {{"a", 1}, {"b", 1}}), surroundings)
                .added.at("OMPI_MCA_plm_rsh_agent"),
            "/opt/bin/horovodrun --remote-shell 2 /bin/sh -c");
}

TEST(ShellQuoted, CanBePasted) {
  EXPECT_EQ(shell_quoted({"a", "b c", "", "it's", "A=1,2:/x"}),
            "a 'b c' '' 'it'\\''s' A=1,2:/x");
}

}  // namespace
}  // namespace hvd::launcher
