// SPDX-License-Identifier: Apache-2.0
// `horovodrun doctor [-H HOSTS|--hostfile FILE] [--json]`: whether these hosts
// can run a job together, and how fast the links between them are. A table with a
// line for each finding, or JSON.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "horovodrun/preflight/links.h"
#include "horovodrun/preflight/preflight.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

struct Finding {
  enum class Level { kOk, kWarning, kFix };
  std::string host{};     // "all": the hosts together.
  std::string subject{};  // "ssh", "MPI".
  Level level = Level::kOk;
  std::string text{};
  // Of a link, for JSON: "latency_us", "mbit_s_there", "mbit_s_back".
  std::vector<std::pair<std::string, double>> figures{};
};

std::vector<Finding> findings_of(const HostAnswers& answers);
std::vector<Finding> findings_of(const HostAnswers& answers,
                                 const std::vector<Link>& links);

std::string to_table(const std::vector<Finding>& findings);
std::string to_json(const std::vector<Finding>& findings);

// Asks the hosts and prints the findings. Returns the exit code: 0, 1 if there
// is anything to fix, or 2 for wrong words.
int run_doctor(const std::vector<std::string>& words,
               const Environment& environment);

}  // namespace hvd::launcher
