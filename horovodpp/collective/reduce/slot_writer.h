// SPDX-License-Identifier: Apache-2.0
// How a rank fills its slots: by plain stores, or around the caches.
//
// A plain store to a line that another core has read waits until that core has
// given it up. Between cores that share a cache this is nearly free, and what
// was written is found in the cache; elsewhere it takes 30 to 100 ns per line,
// ten times what a copy around the caches takes. Which of the two it is changes
// while a program runs, as the system moves ranks to other cores. So the writer
// compares both on a few kilobytes from time to time, and uses the faster one.
//
//   writer.begin_step();
//   writer.copy(slot, gradient, bytes);
//   writer.finish();                          // before others are told of it
//
// The bytes that arrive are the same either way, so ranks need not agree on it.
// Not thread-safe.
#pragma once

#include <cstddef>

#include "horovodpp/collective/reduce/stream_copy.h"

namespace hvd::collective {

class SlotWriter {
 public:
  // A chance to try again, if the last time was some steps ago.
  void begin_step() {
    if (steps_ < kStepsBetween) ++steps_;
  }

  // Copies `bytes` between places that do not overlap. Others see them in any
  // order, until finish().
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);

  // What this thread has copied is seen before what it stores from now on.
  void finish() { finish_streams(); }

 private:
  // How much is copied each way to compare them, and how often: it takes as long as to
  // copy four times as much, here and where the readers wait for memory.
  static constexpr std::size_t kTried = 8192;
  static constexpr int kStepsBetween = 64;

  void compare(std::byte* to, const std::byte* from);

  int steps_ = kStepsBetween;  // Since the last comparison.
  bool streams_ = false;
};

}  // namespace hvd::collective
