// SPDX-License-Identifier: Apache-2.0
// The TuningLog writes the tuner's measurements as lines of a CSV file, with the
// columns of Horovod's HOROVOD_AUTOTUNE_LOG. The last line is the best one,
// whose batches the job keeps. A file that cannot be written is one warning.
//
// Not thread-safe.
#pragma once

#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "horovodpp/coordinator/root/tuner.h"

namespace hvd::runtime {

class TuningLog {
 public:
  struct Options {
    std::string path = {};
    // The same in all lines.
    bool hierarchical_allreduce = true;
    bool hierarchical_allgather = true;
    bool has_cache = true;
    double cycle_time_ms = 0;
    std::function<void(const std::string&)> warn = {};
  };
  // Replaces the file.
  explicit TuningLog(Options options);

  void add(const coordinator::TuningSample& sample);
  // The job ends, and keeps `best`, if anything was measured.
  void finish(const std::optional<coordinator::TuningSample>& best);

 private:
  void write(const std::string& line);

  const Options options_;
  std::ofstream file_;
  bool has_failed_ = false;
};

}  // namespace hvd::runtime
