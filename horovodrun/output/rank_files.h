// SPDX-License-Identifier: Apache-2.0
// The files of --output-filename: each rank's output, as
// <folder>/rank.<rank>/stdout and .../stderr. All rank numbers have as many
// digits as the last one, so that the folders sort. The launcher writes the
// files of ranks whose streams it reads; rank_copy.h writes the files of other
// ranks.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodrun/output/log_file.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {

// Creates `folder`; an error if that fails, or if files cannot be created in
// it.
absl::Status make_output_folder(const std::string& folder);

// The variable that gives agents the folder.
inline constexpr char kFilesVariable[] = "HOROVODRUN_FILES";
// And the limits of the files.
inline constexpr char kLogBytesVariable[] = "HOROVODRUN_LOG_BYTES";
inline constexpr char kLogFilesVariable[] = "HOROVODRUN_LOG_FILES";
LogLimits log_limits(const Environment& environment);
void add_log_limits(const LogLimits& limits, Environment& environment);

// Both files of a rank.
struct RankLog {
  std::unique_ptr<LogFile> output{};
  std::unique_ptr<LogFile> errors{};
};
// Creates them, empty, and their folder.
absl::StatusOr<RankLog> create_rank_log(const std::string& folder, int rank,
                                        int ranks, const LogLimits& limits);

class RankFiles {
 public:
  // Creates the folder for the files of `ranks` ranks.
  absl::Status open(const std::string& folder, int ranks,
                    const LogLimits& limits);
  // Creates the files of a rank; an error names the file that cannot be created.
  // Does nothing without open(), or if there are files of the rank.
  absl::Status add(int rank);

  // The destination for a rank's streams; null: there are no such files.
  LogFile* output(int rank) const;
  LogFile* errors(int rank) const;

  // "" or a message: which file could not be written, and why.
  std::string error() const;

 private:
  std::string folder_;  // Empty: no files are written.
  int ranks_ = 0;
  LogLimits limits_;
  std::map<int, RankLog> logs_;  // By rank.
};

}  // namespace hvd::launcher
