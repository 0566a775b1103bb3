// SPDX-License-Identifier: Apache-2.0
// A CycleFollower tracks one rank's position in the job's cycles: which cycle
// is in force, and whether its end has been announced (docs/negotiation.md).
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "horovodpp/coordinator/protocol/cycle.h"

namespace hvd::coordinator {

class CycleFollower {
 public:
  // The announced cycle continues with `id`; `ends_batch` marks the end of a
  // batch.
  void announce(std::uint32_t id, bool ends_batch) {
    announced_.add(id, ends_batch);
  }
  // Whether part of a new cycle has been announced.
  bool is_being_announced() const { return announced_.batches() > 0; }

  // Puts the announced cycle in force as number `run`; without an announcement,
  // puts the last cycle in force again. Returns false if the hash differs, or
  // if `is_known(id)` is false for an id of the last cycle.
  template <typename IsKnown>
  bool begin(std::uint32_t run, std::uint64_t hash, IsKnown is_known) {
    const bool is_new = is_being_announced();
    if (is_new) cycle_ = std::exchange(announced_, Cycle());
    if (cycle_.batches() == 0 || cycle_.hash() != hash) return false;
    if (!is_new && !cycle_.all_of_ids(is_known)) return false;
    cycle_.restart();
    is_in_force_ = true;
    run_ = run;
    has_asked_ = false;
    return true;
  }
  void end() { is_in_force_ = false; }

  bool is_in_force() const { return is_in_force_; }
  // Number of the cycle in force, or else of the last one.
  std::uint32_t run() const { return run_; }
  // The cycle in force.
  Cycle& cycle() { return cycle_; }
  const Cycle& cycle() const { return cycle_; }

  // The root has halted the run `run`, which may not have begun here yet.
  void halt(std::uint32_t run) { halted_ = run; }
  // Whether the current or last run is halted, so that no batch may be entered.
  bool is_halted() const { return halted_ == run_; }

  // This rank wants the cycle to end. Returns true the first time.
  bool ask_for_end() { return !std::exchange(has_asked_, true); }

  // Submissions that the next batch lacks on this rank, at least 1. Returns 1
  // if no submission could make the rank enter the batch.
  std::size_t missing() const {
    return goes_on() ? std::max<std::size_t>(cycle_.missing(), 1) : 1;
  }
  // Whether a cycle is in force and this rank may enter its next batch.
  bool goes_on() const { return is_in_force() && !is_halted() && !has_asked_; }

 private:
  Cycle announced_;
  Cycle cycle_;  // In force, or the last cycle that was.
  bool is_in_force_ = false;
  std::uint32_t run_ = 0;
  std::uint32_t halted_ = 0;
  bool has_asked_ = false;
};

}  // namespace hvd::coordinator
