// SPDX-License-Identifier: Apache-2.0
// A LinePrefix begins each line of a stream with its rank and name, in the
// format of Horovod: "[3]<stdout>:line". The time may precede them:
// "Wed Nov 25 22:53:13 2026[3]<stdout>:line".
//
// Pure: no clock, no I/O. Not thread-safe.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace hvd::launcher {

class LinePrefix {
 public:
  LinePrefix(std::string label, bool has_time)
      : label_(std::move(label)), has_time_(has_time) {}

  // The next bytes of the stream, which arrived at `now`, with the prefix in
  // front of each line that they begin.
  std::string prefixed(absl::string_view bytes, std::time_t now);

 private:
  std::string label_;
  bool has_time_;
  bool at_line_start_ = true;
};

// The user's choice.
struct PrefixStyle {
  bool is_on = false;
  bool has_time = false;
  // Each rank's label has a color: the launcher's stream is a terminal.
  bool colors_output = false;
  bool colors_errors = false;

  friend bool operator==(const PrefixStyle&, const PrefixStyle&) = default;
};

// The variable that gives agents the style, as a word.
inline constexpr char kPrefixVariable[] = "HOROVODRUN_PREFIX";
std::string to_word(const PrefixStyle& style);
PrefixStyle parse_prefix_style(absl::string_view word);

// The prefix of a rank's stream; nullopt: none.
std::optional<LinePrefix> prefix_of(const PrefixStyle& style, int rank,
                                    bool is_errors);

}  // namespace hvd::launcher
