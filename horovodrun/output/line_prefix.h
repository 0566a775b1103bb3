// SPDX-License-Identifier: Apache-2.0
// A LinePrefix begins each line of a stream with the time and a label, in the
// format of Horovod: "Wed Nov 25 22:53:13 2026[3]<stdout>:line".
//
// Pure: no clock, no I/O. Not thread-safe.
#pragma once

#include <ctime>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace hvd::launcher {

class LinePrefix {
 public:
  explicit LinePrefix(std::string label) : label_(std::move(label)) {}

  // The next bytes of the stream, which arrived at `now`, with the prefix in
  // front of each line that they begin.
  std::string prefixed(absl::string_view bytes, std::time_t now);

 private:
  std::string label_;
  bool at_line_start_ = true;
};

}  // namespace hvd::launcher
