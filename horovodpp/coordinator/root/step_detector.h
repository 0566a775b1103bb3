// SPDX-License-Identifier: Apache-2.0
// StepDetector watches the scheduled operations and detects repetition: steps
// in which the same operations run, each as often, in any order. After enough
// equal steps, the root fixes the order.
//
// - An interruption, such as an occasional validation, ends a useful order for
//   one step; the order then resumes.
// - If the new operations repeat instead, they get an order of their own. The
//   old order is remembered, and seeing it once is enough if it comes back.
// - If orders are of little use, the detector waits longer each time.
// - An order that could not be followed once is tried with the batches as they
//   ran, because a program may wait for each. A last attempt follows, much
//   later.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "horovodpp/coordinator/root/step_tracker.h"

namespace hvd::coordinator {

class StepDetector {
 public:
  // `steps`: equal steps needed to fix the order; 0: never.
  explicit StepDetector(int steps) : steps_(steps), needed_(steps) {}

  // `id` is scheduled; `ends_batch` if it is the last of its batch.
  void ran(std::uint32_t id, bool ends_batch = true);
  // An operation without a reusable id is scheduled.
  void ran_once();
  // `id` will not run again.
  void retired(std::uint32_t id);
  // An event, such as a join, affects all operations.
  void disturb();

  // The operations of a step, in the order of the last one, if enough equal
  // steps have passed and the last is complete; else empty.
  const std::vector<std::uint32_t>& repeated() const;
  // Flags of the operations that ended a batch, if the order must keep these
  // batches; else nullptr. Other batches could not be followed, for example if
  // the program waits for each operation.
  const std::vector<bool>* batch_ends() const;

  // Whether the interrupted order may resume: the interruption has run, and the
  // interrupted step is complete.
  bool may_resume() const {
    return state_ == State::kInterrupted && cause_has_run_ &&
           tracker_.is_between_steps();
  }

  // The order that repeated() returned is in force from now on, or can never
  // be.
  void begin();
  void refuse();
  // The last order is in force again.
  void resume();

  // The root interrupted the order by itself: it may resume after this step.
  void note_own_interruption() { cause_has_run_ = true; }

  // The last order was followed for `steps` whole steps and then by the
  // operations `begun`.
  void followed(std::uint64_t steps, const std::vector<std::uint32_t>& begun);

 private:
  // State of the last order.
  enum class State : std::uint8_t {
    kForgotten,  // None, or not to be resumed.
    kInForce,
    kInterrupted,  // May resume after this step.
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
  bool is_wanted_ = false;  // The last step is an order to begin.

  // The last order.
  std::vector<std::uint32_t> begun_;
  OperationIds in_begun_;
  State state_ = State::kForgotten;
  bool cause_has_run_ = false;  // Other operations ran since,
  StepTracker beside_;          // tracked here if they have ids.
  std::uint64_t followed_ = 0;  // Steps, over all interruptions.
  std::uint64_t credit_ = 0;    // Steps in credit for interruptions.

  // Useful orders that others have replaced, the latest first.
  std::deque<OperationIds> known_;
  // The last order that could not be followed once: how often it failed, and
  // whether it was the only cause.
  struct Failed {
    OperationIds step;
    int times = 0;
    bool by_itself = false;
  };
  Failed failed_;
  OperationIds hopeless_;
};

}  // namespace hvd::coordinator
