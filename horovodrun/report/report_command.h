// SPDX-License-Identifier: Apache-2.0
// `horovodrun report [--output FILE] [--text] FILE...`: what the timelines of a
// job tell about its time, as a page or as text.
#pragma once

#include <string>
#include <vector>

namespace hvd::launcher {

// `words`: those behind "report". Returns the exit code: 0, 1 if a file cannot
// be read or written, or 2 for wrong words or a file that is no timeline.
int run_report(const std::vector<std::string>& words);

}  // namespace hvd::launcher
