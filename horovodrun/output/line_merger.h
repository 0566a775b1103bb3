// SPDX-License-Identifier: Apache-2.0
// A LineMerger makes one stream of what several ranks write, so that no line of
// one gets into a line of another, however long it is and however it arrives.
//
// A line that is begun is passed on as it comes, so that a prompt or a progress
// bar is seen at once. Meanwhile the others wait: for the end of that line, or
// until it has been open for kPatience.
//
// Pure: no clock, no I/O. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodpp/core/clock.h"

namespace hvd::launcher {

class LineMerger {
 public:
  // How long a line that was begun and does not go on holds up the others.
  static constexpr std::chrono::milliseconds kPatience{1000};

  // The number of a new source.
  std::size_t add_source();

  // The next bytes of a source; appends to `text` what can be passed on.
  void feed(std::size_t source, absl::string_view bytes, Clock::TimePoint now,
            std::string* text);
  // The source has ended, perhaps in the middle of a line.
  void finish(std::size_t source, Clock::TimePoint now, std::string* text);
  // Passes on what has waited long enough.
  void look(Clock::TimePoint now, std::string* text);
  // When look() has something to do, if nothing is fed until then.
  Clock::TimePoint deadline() const;

  // So much of the source waits that it should be read no further.
  bool is_full(std::size_t source) const;

 private:
  static constexpr std::size_t kMostHeld = 1 << 20;
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct Source {
    std::string held{};
    std::size_t lines = 0;  // Bytes of `held` up to the end of its last line.
    bool has_ended = false;
  };

  void pass_on(Clock::TimePoint now, std::string* text);
  void begin_a_line(Clock::TimePoint now, std::string* text);
  static void take_lines(Source& source, std::string* text);

  std::vector<Source> sources_;
  std::size_t open_ = kNone;  // Whose line is begun.
  std::size_t last_ = 0;      // Who began one last.
  Clock::TimePoint opened_at_{};
};

}  // namespace hvd::launcher
