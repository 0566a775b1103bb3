// SPDX-License-Identifier: Apache-2.0
// The files of --output-filename if mpirun does not write them: each rank's
// output, as <folder>/rank.<rank>/stdout and .../stderr. All rank numbers have
// as many digits as the last one, so that the folders sort.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "horovodrun/output/output_pump.h"

namespace hvd::launcher {

// Creates `folder`; an error if that fails, or if files cannot be created in
// it.
absl::Status make_output_folder(const std::string& folder);

class RankFiles {
 public:
  RankFiles();
  ~RankFiles();
  RankFiles(const RankFiles&) = delete;
  RankFiles& operator=(const RankFiles&) = delete;

  // Creates the files of all ranks, empty, and their folders; an error names
  // the file that cannot be created.
  absl::Status open(const std::string& folder, int ranks);

  // The destination for a rank's streams; null: there are no such files.
  OutputPump* output(int rank) const { return pump(rank, 0); }
  OutputPump* errors(int rank) const { return pump(rank, 1); }

  // "" or a message: which file could not be written, and why.
  std::string error() const;

 private:
  struct File;

  OutputPump* pump(int rank, int stream) const;

  std::vector<std::unique_ptr<File>> files_;  // Two of each rank, in order.
};

}  // namespace hvd::launcher
