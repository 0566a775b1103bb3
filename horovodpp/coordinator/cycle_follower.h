// SPDX-License-Identifier: Apache-2.0
// A CycleFollower is where one rank stands with the cycles of its job: which one
// is in force, and what has been said about its end. (docs/negotiation.md)
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "horovodpp/coordinator/cycle.h"

namespace hvd::coordinator {

class CycleFollower {
 public:
  // The cycle to come goes on with `id`; a batch of it ends there if
  // `ends_batch`.
  void hear(std::uint32_t id, bool ends_batch) { told_.add(id, ends_batch); }
  // Whether there is a beginning of one.
  bool is_being_told() const { return told_.batches() > 0; }

  // The cycle that was told is in force from now on, as number `run`; if none
  // was, the last one is again. False if there is none with this hash of which
  // all `is_known(id)`.
  template <typename IsKnown>
  bool begin(std::uint32_t run, std::uint64_t hash, IsKnown is_known) {
    const bool is_new = is_being_told();
    if (is_new) cycle_ = std::exchange(told_, Cycle());
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
  // Of the one in force, or of the last one.
  std::uint32_t run() const { return run_; }
  // The one in force.
  Cycle& cycle() { return cycle_; }
  const Cycle& cycle() const { return cycle_; }

  // The root has halted the run `run`, which may be yet to begin here.
  void halt(std::uint32_t run) { halted_ = run; }
  // Whether that was the one in force, or the last one: no batch of it is entered.
  bool is_halted() const { return halted_ == run_; }

  // This rank wants it to end: whether it is the first time.
  bool ask_for_end() { return !std::exchange(has_asked_, true); }

  // How many submissions of this rank its next batch lacks; 1 where it is not
  // entered whatever is submitted. At least 1.
  std::size_t missing() const {
    return goes_on() ? std::max<std::size_t>(cycle_.missing(), 1) : 1;
  }
  // Whether there is one in force, and nothing to keep this rank from entering its
  // next batch.
  bool goes_on() const { return is_in_force() && !is_halted() && !has_asked_; }

 private:
  Cycle told_;
  Cycle cycle_;  // In force, or the last one that was.
  bool is_in_force_ = false;
  std::uint32_t run_ = 0;
  std::uint32_t halted_ = 0;
  bool has_asked_ = false;
};

}  // namespace hvd::coordinator
