// SPDX-License-Identifier: Apache-2.0
// Sends an agent's reports.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "horovodrun/output/report.h"

namespace hvd::launcher {

// Fills in the time, and this host if none is named, and writes the report to
// standard error in one piece.
void send_report(Report report, const std::string& token);

// Reports each of these processes of `rank` as one that SIGKILL does not end.
void report_left_behind(int rank, const std::vector<pid_t>& pids,
                        const std::string& token);

}  // namespace hvd::launcher
