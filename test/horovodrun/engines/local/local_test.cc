// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "horovodrun/engines/engine.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<StartPlan> plan_of(
    const std::function<void(Arguments&)>& change) {
  Arguments arguments;
  arguments.engine = "local";
  arguments.ranks = 4;
  arguments.command = {"./train", "--lr", "0.1"};
  change(arguments);
  return plan_start(
      arguments,
      {.agent = "/opt/bin/horovodrun", .token = "cafe", .host_name = "here"});
}

TEST(LocalEngine, StartsAgentsByHorovodrunItself) {
  const auto plan = plan_of([](Arguments& a) { a.hosts = {{"here", 4}}; });
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(shell_quoted(plan->argv),
            "/opt/bin/horovodrun --start-ranks 4 /opt/bin/horovodrun --agent "
            "-- ./train --lr 0.1");
  EXPECT_EQ(plan->added, (Environment{{"HOROVODRUN_TOKEN", "cafe"},
                                      {"HOROVOD_LAUNCHER", "horovodrun"},
                                      {"HOROVOD_SIZE", "4"}}));
}

TEST(LocalEngine, RefusesUnsupportedOptionsByName) {
  const auto refuses = [](const char* part,
                          const std::function<void(Arguments&)>& change) {
    EXPECT_THAT(plan_of(change).status().ToString(),
                HasSubstr(std::string("INVALID_ARGUMENT: without MPI there is "
                                      "no ") +
                          part +
                          ": leave it out, or start the ranks by mpirun "
                          "(--mpi)"));
  };
  refuses("other hosts", [](Arguments& a) { a.hosts = {{"there", 4}}; });
  refuses("--mpi-args or --binding-args",
          [](Arguments& a) { a.mpi_arguments = {"-x"}; });
  refuses("--network-interface",
          [](Arguments& a) { a.network_interfaces = {"lo"}; });
}

}  // namespace
}  // namespace hvd::launcher
