// SPDX-License-Identifier: Apache-2.0
// A CycleFollower is where one rank stands with the cycles of its job: which one
// is in force, and what has been said about its end. (docs/negotiation.md)
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "horovodpp/coordinator/cycle.h"

namespace hvd::coordinator {

class CycleFollower {
 public:
  // `run` is the number of the cycle that is in force from now on.
  void begin(Cycle cycle, std::uint32_t run) {
    cycle_ = std::move(cycle);
    run_ = run;
    has_asked_ = false;
  }
  void end() { cycle_.reset(); }

  bool is_in_force() const { return cycle_.has_value(); }
  // Of the one in force, or of the last one.
  std::uint32_t run() const { return run_; }
  // The one in force.
  Cycle& cycle() { return *cycle_; }
  const Cycle& cycle() const { return *cycle_; }

  // The root has halted the run `run`, which may be yet to begin here.
  void halt(std::uint32_t run) { halted_ = run; }
  // Whether that was the one in force, or the last one: no batch of it is entered.
  bool is_halted() const { return halted_ == run_; }

  // This rank wants it to end: whether it is the first time.
  bool ask_for_end() { return !std::exchange(has_asked_, true); }

  // How many submissions of this rank its next batch lacks; 1 where it is not
  // entered whatever is submitted. At least 1.
  std::size_t missing() const {
    const bool goes_on = is_in_force() && !is_halted() && !has_asked_;
    return goes_on ? std::max<std::size_t>(cycle_->missing(), 1) : 1;
  }

 private:
  std::optional<Cycle> cycle_;
  std::uint32_t run_ = 0;
  std::uint32_t halted_ = 0;
  bool has_asked_ = false;
};

}  // namespace hvd::coordinator
