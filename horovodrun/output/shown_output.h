// SPDX-License-Identifier: Apache-2.0
// ShownOutput is the launcher's output on one of its own standard streams:
// whole lines of several sources, written without ever waiting for the reader.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodrun/output/line_merger.h"
#include "horovodrun/output/line_prefix.h"
#include "horovodrun/output/output_pump.h"

namespace hvd::launcher {

class ShownOutput {
 public:
  explicit ShownOutput(int fd) : pump_(fd) {}

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

 private:
  LineMerger merger_;
  OutputPump pump_;
};

// A descriptor that is read for such a stream.
struct ShownSource {
  int fd = -1;  // -1: at its end.
  ShownOutput* shown = nullptr;
  std::size_t number = 0;
  OutputPump* copy = nullptr;  // Also gets all bytes, without prefixes.
  std::optional<LinePrefix> prefix = std::nullopt;

  // Reads some bytes; false if there were none, or no room.
  bool read(Clock::TimePoint now);
  // To poll for reading.
  int awaited_fd() const { return shown->is_full(number) ? -1 : fd; }
};

}  // namespace hvd::launcher
