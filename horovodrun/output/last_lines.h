// SPDX-License-Identifier: Apache-2.0
// LastLines remembers the last lines of a stream, for horovodrun's last block.
//
// Pure: no clock, no I/O. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hvd::launcher {

class LastLines {
 public:
  static constexpr std::size_t kMaxLines = 10;
  static constexpr std::size_t kMaxLineBytes = 240;

  // Takes the next bytes of the stream.
  void feed(absl::string_view bytes);

  // The last lines that are not empty, oldest first. Long lines are cut, of a
  // line that was rewritten ('\r') the last state counts, and control
  // characters become blanks.
  std::vector<std::string> lines() const;

 private:
  std::string text_;  // The end of the stream.
};

// Whether the stream that ends with `shown` ends with `lines`. A prefix may
// precede them there.
bool ends_with_lines(const std::vector<std::string>& shown,
                     const std::vector<std::string>& lines);

}  // namespace hvd::launcher
