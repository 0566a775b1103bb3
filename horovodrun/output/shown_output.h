// SPDX-License-Identifier: Apache-2.0
// What a launcher shows on one of its own standard streams: the lines of several
// sources, each of them whole, written without ever waiting for the reader.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodpp/core/clock.h"
#include "horovodrun/output/line_merger.h"
#include "horovodrun/output/output_pump.h"

namespace hvd::launcher {

class ShownOutput {
 public:
  explicit ShownOutput(int fd) : pump_(fd) {}

  std::size_t add_source() { return merger_.add_source(); }
  void feed(std::size_t source, absl::string_view bytes, Clock::TimePoint now);
  void finish(std::size_t source, Clock::TimePoint now);

  // Shows what there is room for.
  void pump(Clock::TimePoint now);
  // When to do so although nothing happens.
  Clock::TimePoint deadline() const { return merger_.deadline(); }
  // Something waits, for room or for the end of another's line.
  bool has_unshown() const {
    return awaited_fd() >= 0 || deadline() != Clock::TimePoint::max();
  }
  // The stream while something waits for room there; else -1.
  int awaited_fd() const { return pump_.awaited_fd(); }
  // So much waits that the source should, too.
  bool is_full(std::size_t source) const {
    return pump_.is_full() || merger_.is_full(source);
  }
  // As of OutputPump.
  int error() const { return pump_.error(); }

 private:
  LineMerger merger_;
  OutputPump pump_;
};

// A descriptor that is read for such a stream.
struct ShownSource {
  int fd = -1;  // -1: at its end.
  ShownOutput* shown = nullptr;
  std::size_t number = 0;
  OutputPump* copy = nullptr;  // Gets all of it, too.

  // Reads what has come, some at a time; false if there was nothing, or no room.
  bool read(Clock::TimePoint now);
  // To poll for reading.
  int awaited_fd() const { return shown->is_full(number) ? -1 : fd; }
};

}  // namespace hvd::launcher
