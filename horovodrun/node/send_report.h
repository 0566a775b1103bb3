// SPDX-License-Identifier: Apache-2.0
// How an agent's reports get out.
#pragma once

#include <string>

#include "horovodrun/job/report.h"

namespace hvd::launcher {

// Fills in the time, and this host where none is named, and writes the report to standard error in one piece.
void send_report(Report report, const std::string& token);

}  // namespace hvd::launcher
