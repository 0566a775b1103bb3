// SPDX-License-Identifier: Apache-2.0
// The supervisor is the parent of one rank's command. It starts the command in
// a process group of its own, passes signals on, and reports its news and its
// end. It leaves none of its processes behind, even if its own parent is
// killed.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "horovodrun/engines/engine.h"
#include "horovodrun/output/rank_streams.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

struct Supervision {
  const Engine* engine = nullptr;  // It has started the rank's agent.
  int rank = 0;
  pid_t parent = 0;   // The process whose end ends the command.
  std::string token;  // Marks the reports.
  // Where the launcher receives the rank's streams; empty: nowhere.
  std::string desk;
  // For the rank, unless the launcher receives its streams; -1: this process's.
  int output = -1;
  int errors = -1;
  RankStreams::Options streams;
  bool debugs_crashes = false;
  bool watches = false;  // Reports the rank's activity.
  std::vector<std::string> command;
  Environment environment;
};

// Runs the command to its end; returns whether it succeeded. Called in a
// process with no other work.
bool supervise(const Supervision& supervision);

}  // namespace hvd::launcher
