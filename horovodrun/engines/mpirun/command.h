// SPDX-License-Identifier: Apache-2.0
// The command that starts a job by mpirun or by our own starter
// (rank_starter.h): the program, and the environment variables to add. It
// starts an agent (agent.h) for each rank, and the agent starts the user's
// command.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/engines/mpirun/flavor.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

struct Surroundings {
  std::string agent;          // Path of horovodrun, equal on all hosts.
  std::string token;          // The agents mark their reports with it.
  std::string host_name;      // This host's.
  bool root = false;          // Whether the user is root.
  bool has_loopback = false;  // Whether there is an interface 'lo'.
  Environment environment;
};

struct MpirunCommand {
  std::vector<std::string> argv;
  Environment added;  // To the surroundings' environment.
};

// Settings are passed as environment variables if a flavor has them, because
// MPI ignores an unknown variable but refuses an unknown flag. Variables of the
// user's environment are never changed, with three exceptions: HOROVOD_SIZE,
// HOROVOD_LAUNCHER and Open MPI's choice of a remote shell. Ours starts the
// user's, and so learns of lost hosts.
//   InvalidArgument   the flavor does not support the arguments: kNone supports
//                     none of needs_mpirun()
absl::StatusOr<MpirunCommand> mpirun_command(MpiFlavor flavor,
                                             const Arguments& arguments,
                                             const Surroundings& surroundings);

// The part of the arguments that needs mpirun: "several hosts", "--mpi-args";
// "": none.
std::string needs_mpirun(const Arguments& arguments,
                         const Surroundings& surroundings);

// `argv` in a form that can be pasted into a shell.
std::string shell_quoted(const std::vector<std::string>& argv);

}  // namespace hvd::launcher
