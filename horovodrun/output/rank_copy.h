// SPDX-License-Identifier: Apache-2.0
// A RankCopy writes the output of a rank to the files of --output-filename, and
// passes it on to this process's own streams. It is for ranks whose streams the
// launcher does not read itself, because they run on another host. Each stream
// has a process that copies it, and that ends with the stream.
//
//   RankCopy copy(folder, rank, ranks, token);
//   ... start the rank with copy.output() and copy.errors() ...
//   copy.close();
//   ... wait until the rank has ended ...
//   while (copy.is_running()) ...
#pragma once

#include <sys/types.h>

#include <array>
#include <string>

namespace hvd::launcher {

class RankCopy {
 public:
  // No copy: the rank has this process's streams.
  RankCopy() = default;
  // A file that cannot be created or written is reported to the launcher; the
  // output is passed on nevertheless.
  RankCopy(const std::string& folder, int rank, int ranks,
           const std::string& token);
  ~RankCopy() { close(); }
  RankCopy(RankCopy&& other) noexcept;
  RankCopy& operator=(RankCopy&&) = delete;

  // For the rank; -1: this process's.
  int output() const { return writers_[0]; }
  int errors() const { return writers_[1]; }
  // Closes this process's writing ends.
  void close();

  // Whether a process still copies. Reaps those that have ended.
  bool is_running();

 private:
  std::array<int, 2> writers_ = {-1, -1};
  std::array<pid_t, 2> copiers_ = {-1, -1};
};

}  // namespace hvd::launcher
