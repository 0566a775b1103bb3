// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/shell_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "horovodrun/engines/mpirun/flavor.h"

namespace hvd::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum MpiFlavor;

// Each program exists on every test machine.
Environment environment_with(const Environment& more) {
  Environment environment = {{"PATH", "/bin:/usr/bin"}};
  environment.insert(more.begin(), more.end());
  return environment;
}

std::vector<std::string> words(MpiFlavor flavor, const Environment& more,
                               const std::vector<std::string>& options = {}) {
  Arguments arguments;
  arguments.mpi_arguments = options;
  return shell_words(
      is_open_mpi(flavor) ? MpiFamily::kOpenMpi : MpiFamily::kHydra, arguments,
      environment_with(more));
}

TEST(ShellWords, AreTheUsersProgramAndOptions) {
  EXPECT_THAT(words(kOpenMpi4, {{"OMPI_MCA_plm_rsh_agent", "no-such : sh -c"},
                                {"OMPI_MCA_plm_rsh_args", "-p 2222"}}),
              ElementsAre("sh", "-c", "-p", "2222"));
  EXPECT_THAT(words(kOpenMpi5, {{"PRTE_MCA_plm_ssh_agent", "sh"}}),
              ElementsAre("sh"));
  EXPECT_THAT(words(kOpenMpi4, {}, {"--mca", "plm_rsh_agent", "sh -u"}),
              ElementsAre("sh", "-u"));
  EXPECT_THAT(words(kMpich, {{"HYDRA_LAUNCHER_EXEC", "/bin/sh"}}),
              ElementsAre("/bin/sh"));
}

TEST(ShellWords, AreNoneIfMpirunConnectsInAWayOfItsOwn) {
  const Environment agent = {{"OMPI_MCA_plm_rsh_agent", "sh"},
                             {"SLURM_JOBID", "7"}};
  EXPECT_THAT(words(kOpenMpi4, agent), IsEmpty());
  EXPECT_THAT(words(kOpenMpi4, agent, {"--mca", "plm", "rsh"}),
              ElementsAre("sh"));
  EXPECT_THAT(words(kMpich, {{"HYDRA_LAUNCHER", "slurm"}}), IsEmpty());
}

}  // namespace
}  // namespace hvd::launcher
