// SPDX-License-Identifier: Apache-2.0
// The files of --output-filename: each rank's output, as
// <folder>/rank.<rank>/stdout and .../stderr. All rank numbers have as many
// digits as the last one, so that the folders sort. The launcher writes those of
// the ranks whose streams it reads; beside any other rank, rank_copy.h does.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodrun/output/output_pump.h"

namespace hvd::launcher {

// Creates `folder`; an error if that fails, or if files cannot be created in
// it.
absl::Status make_output_folder(const std::string& folder);

// The variable that gives agents the folder.
inline constexpr char kFilesVariable[] = "HOROVODRUN_FILES";

struct RankFileNames {
  std::string output;
  std::string errors;
};

// Creates both files of the rank, empty, and their folder; the descriptors are
// for the caller to close.
struct OpenRankFiles {
  RankFileNames names;
  int output = -1;
  int errors = -1;
};
absl::StatusOr<OpenRankFiles> open_rank_files(const std::string& folder,
                                              int rank, int ranks);

// "cannot write to PATH: REASON".
std::string cannot_write(const std::string& path, int error);

class RankFiles {
 public:
  RankFiles();
  ~RankFiles();
  RankFiles(const RankFiles&) = delete;
  RankFiles& operator=(const RankFiles&) = delete;

  // Creates the folder for the files of `ranks` ranks.
  absl::Status open(const std::string& folder, int ranks);
  // Creates the files of a rank; an error names the file that cannot be created.
  // Does nothing without open(), or if there are files of the rank.
  absl::Status add(int rank);

  // The destination for a rank's streams; null: there are no such files.
  OutputPump* output(int rank) const { return pump(rank, 0); }
  OutputPump* errors(int rank) const { return pump(rank, 1); }

  // "" or a message: which file could not be written, and why.
  std::string error() const;

 private:
  struct File;

  OutputPump* pump(int rank, int stream) const;

  std::string folder_;  // Empty: no files are written.
  int ranks_ = 0;
  std::map<int, std::array<std::unique_ptr<File>, 2>> files_;  // By rank.
};

}  // namespace hvd::launcher
