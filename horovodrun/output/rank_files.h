// SPDX-License-Identifier: Apache-2.0
// The files of --output-filename where no mpirun writes them: all that a rank writes, as
// <folder>/rank.<rank>/stdout and .../stderr. Each rank has as many digits as the last
// one, so that the folders sort.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "horovodrun/output/output_pump.h"

namespace hvd::launcher {

// Makes `folder`; an error if it cannot be made, or files cannot be made in it.
absl::Status make_output_folder(const std::string& folder);

class RankFiles {
 public:
  RankFiles();
  ~RankFiles();
  RankFiles(const RankFiles&) = delete;
  RankFiles& operator=(const RankFiles&) = delete;

  // Makes the files of all ranks anew, empty, with the folders they lie in; an error
  // names the one that cannot be.
  absl::Status open(const std::string& folder, int ranks);

  // Where to write what comes from a rank's streams; null: there are no such files.
  OutputPump* output(int rank) const { return pump(rank, 0); }
  OutputPump* errors(int rank) const { return pump(rank, 1); }

  // "" or which file could not be written, and why.
  std::string error() const;

 private:
  struct File;

  OutputPump* pump(int rank, int stream) const;

  std::vector<std::unique_ptr<File>> files_;  // Two of each rank, in order.
};

}  // namespace hvd::launcher
