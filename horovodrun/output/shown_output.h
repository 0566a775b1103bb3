// SPDX-License-Identifier: Apache-2.0
// ShownOutput is the launcher's output on one of its own standard streams:
// whole lines of several sources, written without ever waiting for the reader.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodrun/output/last_lines.h"
#include "horovodrun/output/line_merger.h"
#include "horovodrun/output/line_prefix.h"
#include "horovodrun/output/log_file.h"
#include "horovodrun/pipes/output_pump.h"
#include "horovodrun/terminal/terminal_block.h"

namespace hvd::launcher {

class ShownOutput {
 public:
  explicit ShownOutput(int fd) : fd_(fd), pump_(fd) {}

  std::size_t add_source() { return merger_.add_source(); }
  void feed(std::size_t source, absl::string_view bytes, Clock::TimePoint now);
  void finish(std::size_t source, Clock::TimePoint now);

  // Shows as much as fits.
  void pump(Clock::TimePoint now);
  // When to call pump() without an event.
  Clock::TimePoint deadline() const { return merger_.deadline(); }
  // Whether bytes wait for room or for the end of another source's line.
  bool has_unshown() const {
    return awaited_fd() >= 0 || deadline() != Clock::TimePoint::max();
  }
  // The stream while bytes wait for room there; else -1.
  int awaited_fd() const { return pump_.awaited_fd(); }
  // Whether so much waits that the source should wait, too.
  bool is_full(std::size_t source) const {
    return pump_.is_full() || merger_.is_full(source);
  }
  // As OutputPump's.
  int error() const { return pump_.error(); }
  // Shows a block of lines below all text, on a terminal; the text then appears
  // line by line. Does nothing while the terminal takes no bytes.
  void show_block(std::vector<std::string> lines);
  void clear_block();
  // The last lines that it has got to show.
  std::vector<std::string> last_lines() const { return last_.lines(); }

 private:
  void show(absl::string_view text);

  const int fd_;
  LineMerger merger_;
  LastLines last_;
  OutputPump pump_;
  std::optional<TerminalBlock> block_;
};

// A descriptor that is read for such a stream.
struct ShownSource {
  int fd = -1;  // -1: at its end.
  ShownOutput* shown = nullptr;
  std::size_t number = 0;
  LogFile* file = nullptr;    // Also gets all bytes, without prefixes,
  LastLines* last = nullptr;  // as does this.
  std::optional<LinePrefix> prefix = std::nullopt;

  // Reads some bytes; false if there were none, or no room.
  bool read(Clock::TimePoint now);
  // To poll for reading.
  int awaited_fd() const { return shown->is_full(number) ? -1 : fd; }
};

}  // namespace hvd::launcher
