// SPDX-License-Identifier: Apache-2.0
// The supervisor is the parent of one rank's command: it starts it in a process
// group of its own, passes signals on, reports what it tells of the job and how
// it ended, and leaves none of its processes behind, not even when its own
// parent is killed.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "horovodrun/system/environment.h"

namespace hvd::launcher {

struct Supervision {
  int rank = 0;
  pid_t parent = 0;   // The process whose end ends the command.
  std::string token;  // Marks the reports.
  std::string
      desk;  // Where the launcher takes the rank's streams; may be empty.
  bool terminal = false;  // The rank's output is one, as mpirun has it.
  std::vector<std::string> command;
  Environment environment;
};

// Runs the command to its end. Called in a process that does nothing else.
void supervise(const Supervision& supervision);

}  // namespace hvd::launcher
