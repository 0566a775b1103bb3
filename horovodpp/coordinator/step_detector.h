// SPDX-License-Identifier: Apache-2.0
// The StepDetector watches what is scheduled, operation by operation, and sees
// when a program repeats itself: steps in which the same operations run, each as
// often, in any order. After enough of them the root fixes the order.
//
// Where something ends an order that was of use, as a validation now and then
// does, the order is good for the step after that again. If instead it goes on,
// and repeats itself, the program does something else now, which gets an order of
// its own; that of before is remembered, and needs to be seen once if it comes
// back. Where orders are of little use, they are waited for longer each time. One
// that could not even be followed once is tried with batches as they were, as a
// program may wait for each, and one more time, much later, for these operations.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "horovodpp/coordinator/step_tracker.h"

namespace hvd::coordinator {

class StepDetector {
 public:
  // `steps`: as many equal ones are enough; 0: never.
  explicit StepDetector(int steps) : steps_(steps), needed_(steps) {}

  // `id` is scheduled, as the last of its batch or not.
  void ran(std::uint32_t id, bool ends_batch = true);
  // Something is scheduled that has no id to come again by.
  void ran_once();
  // `id` is not to come again.
  void retired(std::uint32_t id);
  // Something happens to all that runs, as a join does.
  void disturb();

  // The operations of a step, in the order of the last one, if enough equal
  // ones have passed and the last is complete; else empty.
  const std::vector<std::uint32_t>& repeated() const;
  // Which of these ended a batch, where the order is to be cut like that: cut
  // otherwise nobody could follow it, as where a program waits for each of its
  // operations. Else nullptr.
  const std::vector<bool>* batch_ends() const;

  // Whether the order that was begun last may go on: what interrupted it has run,
  // and so has all of the step that was interrupted.
  bool may_resume() const {
    return state_ == State::kInterrupted && cause_has_run_ &&
           tracker_.is_between_steps();
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

  void ran_beside(std::uint32_t id, bool ends_batch);
  bool completes_order(StepTracker& tracker, std::uint32_t id,
                       bool ends_batch) const;
  bool is_enough(const StepTracker& tracker) const;
  bool is_known(const OperationIds& step) const;
  void give_up();
  void note_failure();
  void remember();
  bool is_worth_resuming();

  const int steps_;
  int needed_;
  StepTracker tracker_;
  bool is_wanted_ = false;  // Its last step is an order to begin.

  // Of the order that was begun last.
  std::vector<std::uint32_t> begun_;
  OperationIds in_begun_;
  State state_ = State::kForgotten;
  bool cause_has_run_ = false;  // Something else, since it was interrupted:
  StepTracker beside_;          // as far as it comes under ids.
  std::uint64_t followed_ = 0;  // Steps, interruptions and all.
  std::uint64_t credit_ = 0;    // Steps that interruptions were worth.

  // Orders that were of use, and others have come since. The latest first.
  std::deque<OperationIds> known_;
  // The last order that could not be followed even once: how often, and whether
  // nothing else was the cause.
  struct Failed {
    OperationIds step;
    int times = 0;
    bool by_itself = false;
  };
  Failed failed_;
  OperationIds hopeless_;
};

}  // namespace hvd::coordinator
