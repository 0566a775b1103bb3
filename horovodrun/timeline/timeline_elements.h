// SPDX-License-Identifier: Apache-2.0
// Reads the elements of a timeline that a rank has written
// (horovodpp/telemetry/timeline): one a line.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hvd::launcher {

// The value of a member in an element: a number, or a text as it is written,
// without its quotes. `key` is `"pid": `. nullopt: the element has no such
// member.
std::optional<double> number_of(std::string_view element, std::string_view key);
std::optional<std::string_view> string_member(std::string_view element,
                                              std::string_view key);

// The first element, which tells of the whole file.
struct TimelineHead {
  int rank = 0;
  std::int64_t epoch_us = 0;   // The begin of all times in the file.
  std::int64_t steady_ns = 0;  // The same on CLOCK_MONOTONIC,
  std::string clock = {};      // of the host that this names; "": unknown.
};

class TimelineElements {
 public:
  //   (errors)         the file cannot be read
  //   InvalidArgument  it is no such timeline
  static absl::StatusOr<TimelineElements> open(const std::string& path);

  const TimelineHead& head() const { return head_; }

  // The next element, from the first on, without the comma behind it; valid
  // until the next call. nullopt at the end.
  std::optional<std::string_view> next();
  // Begins again.
  void rewind();

 private:
  TimelineElements() = default;

  std::ifstream file_;
  std::string line_;
  TimelineHead head_;
};

}  // namespace hvd::launcher
