// SPDX-License-Identifier: Apache-2.0
// The command that starts a job, mpirun or our own starter (rank_starter.h): what
// to run, and which environment variables to add. It does not start the user's
// command itself but, for each rank, an agent (agent.h) that starts it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/job/mpi_flavor.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

struct Surroundings {
  std::string agent;          // The path of horovodrun, equal on every host.
  std::string token;          // What the agents mark their reports with.
  std::string host_name;      // This host's.
  bool root = false;          // Whether the user is root.
  bool has_loopback = false;  // Whether there is an interface 'lo'.
  Environment environment;
};

struct MpirunCommand {
  std::vector<std::string> argv;
  Environment added;  // To the surroundings' environment.
};

// Settings travel as environment variables where a flavor knows them, because
// there an unknown one is ignored and an unknown flag is an error. Nothing that
// the user's environment already sets is changed, except HOROVOD_SIZE,
// HOROVOD_LAUNCHER and, so as to be told of hosts that are lost, Open MPI's choice
// of a remote shell, which is started from ours.
//   InvalidArgument   the flavor cannot do what the arguments ask: kNone none of
//                     needs_mpirun()
absl::StatusOr<MpirunCommand> mpirun_command(MpiFlavor flavor,
                                             const Arguments& arguments,
                                             const Surroundings& surroundings);

// What in the arguments only mpirun does: "several hosts", "--mpi-args"; "": all
// of it can be done without.
std::string needs_mpirun(const Arguments& arguments,
                         const Surroundings& surroundings);

// `argv` as one could paste it into a shell.
std::string shell_quoted(const std::vector<std::string>& argv);

}  // namespace hvd::launcher
