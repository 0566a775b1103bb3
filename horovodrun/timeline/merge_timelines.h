// SPDX-License-Identifier: Apache-2.0
// Merges the timelines of a job's ranks into one file, on the clock of the first.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hvd::launcher {

// Writes the elements of all `files` to `to`, which may be one of them. Each
// rank has "processes" of its own, with names that begin with "rank 2". The
// element clock_offset of a rank tells what was added to its times, from what,
// and how wrong that may be.
//   (errors)         a file cannot be read or written; `to` is as before
//   InvalidArgument  a file is no timeline of a rank
absl::Status merge_timelines(const std::vector<std::string>& files,
                             const std::string& to);

// The timelines of one job, where horovodrun writes some. A job writes `path`,
// and "<path>.rank1", ...; each rank on its own host.
class JobTimelines {
 public:
  // `path`: HOROVOD_TIMELINE; "": none. Removes the parts of an earlier job.
  JobTimelines(std::string path, int ranks);

  // Whether ranks write parts to be merged.
  bool has_parts() const;

  // At the end of the job: merges the files that are on this host into `path`,
  // and removes the parts. Returns lines for the user.
  std::vector<std::string> merge() const;

 private:
  const std::string path_;
  const int ranks_;
  // Otherwise rank 0 is on another host, and the file of an earlier job.
  std::filesystem::file_time_type written_before_{};
};

// `horovodrun --merge-timelines TO FILE...`: returns the exit code.
int run_merge_timelines(const std::vector<std::string>& words);

}  // namespace hvd::launcher
