// SPDX-License-Identifier: Apache-2.0
// Reads the elements of a file in Chrome's trace format, one after the other: an
// array of objects, or an object whose "traceEvents" is such an array.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace hvd::launcher::report {

// Members that a file does not have, or that have another type, are as here.
struct TraceElement {
  std::string name = {};
  char phase = ' ';  // 'B', 'E', 'X', 'i', 'M'
  double time_us = 0;
  double duration_us = 0;
  std::int64_t pid = 0;
  std::int64_t tid = 0;

  // Of "args":
  std::string process = {};  // "name"
  std::string reason = {};
  std::optional<std::int64_t> rank = {};
  std::optional<double> epoch_us = {};  // "start_time_since_epoch_in_micros"
  std::optional<std::int64_t> batch = {};
  std::int64_t epoch = 0;
  double bytes = 0;
  double count = 0;
  bool is_abandoned = false;
  bool is_failed = false;
};

using TakeElement = std::function<absl::Status(const TraceElement&)>;

// Calls `take` with each element, and ends at its first error. Returns whether
// the file is complete: false, if it ends in the middle, as that of a program
// that was killed may.
//   (errors)          the file cannot be read
//   InvalidArgument   with its line: it is not in this format
absl::StatusOr<bool> read_trace(const std::string& path,
                                const TakeElement& take);

}  // namespace hvd::launcher::report
