// SPDX-License-Identifier: Apache-2.0
// A LineMerger merges the output of several ranks into one stream, so that
// lines never mix, however long they are and however they arrive.
//
// The beginning of a line is passed on as it arrives, so that a prompt or a
// progress bar is seen at once. Meanwhile the other sources wait for the end of
// that line, or until it has been open for kLineTimeout.
//
// Pure: no clock, no I/O. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodpp/core/thread/clock.h"

namespace hvd::launcher {

class LineMerger {
 public:
  // How long an unfinished line may delay the other sources.
  static constexpr std::chrono::milliseconds kLineTimeout{1000};

  // Returns the number of a new source.
  std::size_t add_source();

  // Takes the next bytes of a source; appends to `text` the bytes that may be
  // shown now.
  void feed(std::size_t source, absl::string_view bytes, Clock::TimePoint now,
            std::string* text);
  // The source has ended, perhaps in the middle of a line.
  void finish(std::size_t source, Clock::TimePoint now, std::string* text);
  // Passes on bytes that have waited long enough.
  void look(Clock::TimePoint now, std::string* text);
  // When to call look() if nothing is fed until then.
  Clock::TimePoint deadline() const;

  // Whether so many bytes of the source wait that it should not be read
  // further.
  bool is_full(std::size_t source) const;

 private:
  static constexpr std::size_t kMaxHeld = 1 << 20;
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
  std::size_t open_ = kNone;  // The source of the unfinished line.
  std::size_t last_ = 0;      // The source of the last line.
  Clock::TimePoint opened_at_{};
};

}  // namespace hvd::launcher
