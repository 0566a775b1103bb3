// SPDX-License-Identifier: Apache-2.0
// A RankCopy takes the output of a rank whose streams the launcher does not
// read itself, because the rank runs on another host. It works there like
// JobOutput on the launcher's host. It writes the files of --output-filename,
// adds prefixes, hides streams, and remembers the last lines of standard error.
// The rest goes to this process's own streams.
//
// Each stream has a process that copies it, and that ends with the stream.
//
//   RankCopy copy({.folder = folder, .rank = rank, .ranks = ranks, ...});
//   ... start the rank with copy.output() and copy.errors() ...
//   copy.close();
//   ... wait until the rank has ended ...
//   while (copy.is_running()) ...
//   copy.report_last_lines();
#pragma once

#include <sys/types.h>

#include <array>
#include <memory>
#include <string>

#include "horovodrun/output/line_prefix.h"
#include "horovodrun/output/log_file.h"

namespace hvd::launcher {

class RankCopy {
 public:
  struct Options {
    std::string folder{};  // Of the files; empty: none.
    LogLimits limits{};
    int rank = 0;
    int ranks = 1;
    PrefixStyle prefix{};
    bool hides_output = false;
    bool hides_errors = false;
    bool terminal = false;  // The output is a terminal even if this one is not.
    std::string token{};    // Of reports.
  };

  // No copy: the rank has this process's streams.
  RankCopy();
  // A file that cannot be created or written is reported to the launcher; the
  // output is passed on nevertheless.
  explicit RankCopy(const Options& options);
  ~RankCopy();
  RankCopy(RankCopy&& other) noexcept;
  RankCopy& operator=(RankCopy&&) = delete;

  // For the rank; -1: this process's.
  int output() const { return writers_[0]; }
  int errors() const { return writers_[1]; }
  // Closes this process's writing ends.
  void close();

  // Whether a process still copies. Reaps those that have ended.
  bool is_running();

  // Reports the last lines of standard error, after the copy has ended.
  void report_last_lines() const;

 private:
  struct SharedLines;

  std::array<int, 2> writers_ = {-1, -1};
  std::array<pid_t, 2> copiers_ = {-1, -1};
  // Written by the process that copies standard error; null: it could not be
  // made.
  SharedLines* last_lines_ = nullptr;
  int rank_ = 0;
  std::string token_;
};

}  // namespace hvd::launcher
