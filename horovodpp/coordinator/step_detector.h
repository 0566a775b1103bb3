// SPDX-License-Identifier: Apache-2.0
// The StepDetector watches what is scheduled, operation by operation, and sees
// when a program repeats itself: steps in which the same operations run, each
// once, in any order. After enough of them the root fixes the order.
//
// Where something ends an order that was of use, as a validation now and then
// does, the order is good for the step after that again. Where orders are of
// little use, they are waited for longer each time. One that could not even be
// followed once is tried one more time, much later, for these operations.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace hvd::coordinator {

class StepDetector {
 public:
  // `steps`: as many equal ones are enough; 0: never.
  explicit StepDetector(int steps) : steps_(steps), needed_(steps) {}

  // `id` is scheduled.
  void ran(std::uint32_t id);
  // Something is scheduled that has no id to come again by.
  void ran_once();
  // `id` is not to come again.
  void retired(std::uint32_t id);
  // Something happens to all that runs, as a join does.
  void disturb();

  // The operations of a step, in the order of the last one, if enough equal
  // ones have passed and the last is complete; else empty.
  const std::vector<std::uint32_t>& repeated() const;

  // Whether the order that was begun last may go on: what interrupted it has run,
  // and so has all of the step that was interrupted.
  bool may_resume() const {
    return state_ == State::kInterrupted && cause_has_run_ &&
           has_complete_step();
  }

  // Of what repeated() gives: it is in force from now on, or can never be.
  void begin();
  void refuse();
  // The order that was begun last is in force again.
  void resume();

  // The order that was begun last was followed for so many whole steps, and then
  // by these operations.
  void followed(std::uint64_t steps, const std::vector<std::uint32_t>& begun);

 private:
  // Of the order that was begun last.
  enum class State : std::uint8_t {
    kForgotten,  // None, or not to be resumed.
    kInForce,
    kInterrupted,  // It may be resumed when this step is complete.
  };

  bool has_complete_step() const { return !last_.empty() && current_.empty(); }
  void complete_step();
  void give_up();
  bool is_worth_resuming();

  const int steps_;
  int needed_;
  int equal_ = 0;           // Complete steps like the last, it included.
  bool is_wanted_ = false;  // These are enough.
  std::vector<std::uint32_t> last_;
  std::vector<std::uint32_t> current_;
  absl::flat_hash_set<std::uint32_t> in_last_;
  absl::flat_hash_set<std::uint32_t> in_current_;

  // Of the order that was begun last.
  absl::flat_hash_set<std::uint32_t> begun_;
  State state_ = State::kForgotten;
  bool cause_has_run_ = false;  // Something else, since it was interrupted.
  int completed_ = 0;           // Steps, since then.
  std::uint64_t followed_ = 0;  // Steps, interruptions and all.
  std::uint64_t credit_ = 0;    // Steps that interruptions were worth.

  absl::flat_hash_set<std::uint32_t> failed_once_;
  absl::flat_hash_set<std::uint32_t> hopeless_;
};

}  // namespace hvd::coordinator
