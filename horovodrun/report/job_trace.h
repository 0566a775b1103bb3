// SPDX-License-Identifier: Apache-2.0
// Reads the timelines of a job: a file of each rank, or one of several ranks.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodrun/report/rank_trace.h"

namespace hvd::launcher::report {

// In order of the ranks, on one clock, from 0 on.
//   (errors)          a file cannot be read
//   InvalidArgument   a file is no timeline, or two files are of one rank
absl::StatusOr<std::vector<RankTrace>> read_job(
    const std::vector<std::string>& files);

// Brings the ranks to the clock of the first: by the wall clock, then so that
// they end batches together.
void align(std::vector<RankTrace>& ranks);

}  // namespace hvd::launcher::report
