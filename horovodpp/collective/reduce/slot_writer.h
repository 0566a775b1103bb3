// SPDX-License-Identifier: Apache-2.0
// A SlotWriter fills a rank's slots by the faster of two ways: plain stores, or
// streaming stores around the caches.
//
// A plain store to a line that another core has read waits until that core
// releases the line. Between cores that share a cache this is nearly free, and
// the written data is found in the cache. Between others it takes 30 to 100 ns
// per line, ten times as long as a streaming copy. The applicable case changes
// while a program runs, because the system moves ranks to other cores. So the
// writer compares both ways on a few kilobytes from time to time, and uses the
// faster one.
//
//   writer.begin_step();
//   writer.copy(slot, gradient, bytes);
//   writer.finish();                          // before announcing the slot
//
// Both ways write the same bytes, so ranks need not agree on the choice. Not
// thread-safe.
#pragma once

#include <cstddef>

#include "horovodpp/collective/reduce/stream_copy.h"

namespace hvd::collective {

class SlotWriter {
 public:
  // Allows another comparison, if the last one was some steps ago.
  void begin_step() {
    if (steps_ < kStepsBetween) ++steps_;
  }

  // Copies `bytes` between places that do not overlap. Other threads see them
  // in any order, until finish().
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);

  // Makes everything that this thread has copied visible before its later
  // stores.
  void finish() { finish_streams(); }

 private:
  // The size of a comparison, and its interval in steps. A comparison takes as
  // long as copying four times as much, here and where the readers wait for
  // memory.
  static constexpr std::size_t kTried = 8192;
  static constexpr int kStepsBetween = 64;

  void compare(std::byte* to, const std::byte* from);

  int steps_ = kStepsBetween;  // Since the last comparison.
  bool streams_ = false;
};

// Begins to fetch `bytes` for this core alone: lines that another core has
// written, and that this core will write. A load leaves the lines with both
// cores. The later store has to ask the other core to release them, which takes
// as long again. If a store is known to follow, one request does both.
//
//   fetch_to_write(slot + kPortion, kPortion);  // while this portion is used
//   reduce(slot, ...);
void fetch_to_write(const std::byte* memory, std::size_t bytes);

}  // namespace hvd::collective
