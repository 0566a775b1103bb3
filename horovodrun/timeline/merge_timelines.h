// SPDX-License-Identifier: Apache-2.0
// Merges the timelines of a job's ranks into one file, on the clock of the first.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace hvd::launcher {

// Writes the elements of all `files` to `to`, which may be one of them. Each
// rank has "processes" of its own, with names that begin with "rank 2". The
// element clock_offset of a rank tells what was added to its times, from what,
// and how wrong that may be.
//   (errors)         a file cannot be read or written; `to` is as before
//   InvalidArgument  a file is no timeline of a rank
absl::Status merge_timelines(const std::vector<std::string>& files,
                             const std::string& to);

// `horovodrun --merge-timelines TO FILE...`: returns the exit code.
int run_merge_timelines(const std::vector<std::string>& words);

}  // namespace hvd::launcher
