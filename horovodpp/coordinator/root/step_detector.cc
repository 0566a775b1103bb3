// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/root/step_detector.h"

#include <algorithm>
#include <utility>

namespace hvd::coordinator {
namespace {

// Most equal steps required before the order is fixed.
constexpr int kMaxSteps = 256;

// An order that could not be followed once may have met one odd step. The
// detector requires this many times more steps, then gives up.
constexpr int kSecondChance = 8;

// An interrupted order resumes if it was followed for this many steps since the
// last interruption, or, for interruptions in groups, before. Credit is capped,
// so that a changed program is noticed.
constexpr std::uint64_t kStepsPerInterruption = 2;
constexpr std::uint64_t kMaxCredit = 8 * kStepsPerInterruption;

// Steps that may pass before resuming, if other operations overlap each step.
constexpr int kStepsToResume = 4;

// Remembered orders: training, validation, and other phases of a program.
constexpr std::size_t kMaxKnown = 4;

}  // namespace

void StepDetector::ran(std::uint32_t id, bool ends_batch) {
  if (steps_ == 0) return;
  if (state_ == State::kInterrupted) {
    if (!tracker_.in_last().contains(id)) {
      return ran_beside(id, ends_batch);
    }
    beside_.clear();
    // The interrupted step never ended.
    if (tracker_.is_surplus(id)) give_up();
  }
  // The order was not begun, because more operations had to be scheduled at
  // once.
  if (is_wanted_ && tracker_.slide(id, ends_batch)) return;
  is_wanted_ = false;
  if (state_ == State::kInterrupted) {
    if (!tracker_.ran(id, ends_batch)) return;
    // The first of the equal steps was followed.
    const int max_interruptions = cause_has_run_ ? kStepsToResume : 1;
    if (tracker_.equal() - 1 <= max_interruptions) return;
    give_up();
    is_wanted_ = is_enough(tracker_);
  } else {
    is_wanted_ = completes_order(tracker_, id, ends_batch);
  }
}

// An operation outside the interrupted order: an interruption, or a new order.
void StepDetector::ran_beside(std::uint32_t id, bool ends_batch) {
  cause_has_run_ = true;
  if (!completes_order(beside_, id, ends_batch)) return;
  StepTracker now = std::exchange(beside_, {});
  give_up();
  tracker_ = std::move(now);
  is_wanted_ = true;
}

// Whether `id`, now run, completes a step that an order may be made of.
bool StepDetector::completes_order(StepTracker& tracker, std::uint32_t id,
                                   bool ends_batch) const {
  if (tracker.ran(id, ends_batch)) return is_enough(tracker);
  // A known step may be part of the step being learned.
  if (tracker.equal() > 0 || !is_known(tracker.in_current())) return false;
  tracker.close_step();
  return true;
}

bool StepDetector::is_enough(const StepTracker& tracker) const {
  const OperationIds& step = tracker.in_last();
  if (is_known(step)) return true;
  if (hopeless_ == step) return false;
  // The first failure may have been due to the batches.
  const bool is_tried_later =
      failed_.step == step && (failed_.times > 1 || !failed_.by_itself);
  const int needed =
      is_tried_later ? std::min(kMaxSteps, kSecondChance * needed_) : needed_;
  return tracker.equal() >= needed;
}

bool StepDetector::is_known(const OperationIds& step) const {
  return std::find(known_.begin(), known_.end(), step) != known_.end();
}

// The last order is not resumed: rates how useful it was.
void StepDetector::give_up() {
  state_ = State::kForgotten;
  beside_.clear();
  std::erase(known_, in_begun_);
  if (followed_ == 0) {
    note_failure();
  } else if (followed_ >= static_cast<std::uint64_t>(needed_)) {
    // The order was followed at least as long as it took to learn. Its end, for
    // example by an occasional barrier, is no reason to wait longer next time.
    needed_ = steps_;
    remember();
  } else {
    needed_ = std::min(kMaxSteps, 2 * needed_);
  }
}

void StepDetector::note_failure() {
  if (failed_.step != in_begun_) failed_ = {.step = in_begun_};
  ++failed_.times;
  failed_.by_itself = failed_.by_itself || !cause_has_run_;
  if (failed_.times > (failed_.by_itself ? 2 : 1)) hopeless_ = in_begun_;
}

void StepDetector::remember() {
  known_.push_front(in_begun_);
  if (known_.size() > kMaxKnown) known_.pop_back();
}

void StepDetector::ran_once() {
  if (state_ == State::kInterrupted) {
    cause_has_run_ = true;
    beside_.clear();
  } else {
    disturb();
  }
}

void StepDetector::retired(std::uint32_t id) {
  if (state_ != State::kForgotten && !in_begun_.contains(id)) {
    return beside_.clear();
  }
  disturb();
}

void StepDetector::disturb() {
  is_wanted_ = false;
  cause_has_run_ = true;
  state_ = State::kForgotten;
  tracker_.clear();
  beside_.clear();
}

const std::vector<std::uint32_t>& StepDetector::repeated() const {
  static const std::vector<std::uint32_t> kNone;
  return is_wanted_ && tracker_.is_between_steps() ? tracker_.last() : kNone;
}

const std::vector<bool>* StepDetector::batch_ends() const {
  const bool as_they_were =
      failed_.by_itself && failed_.step == tracker_.in_last();
  return as_they_were ? &tracker_.batch_ends() : nullptr;
}

void StepDetector::begin() {
  begun_ = tracker_.last();
  in_begun_ = tracker_.in_last();
  followed_ = 0;
  cause_has_run_ = false;
  credit_ = kStepsPerInterruption;  // The first interruption may come early.
  resume();
}

void StepDetector::resume() {
  state_ = State::kInForce;
  is_wanted_ = false;
  beside_.clear();
}

void StepDetector::refuse() {
  hopeless_ = tracker_.in_last();
  disturb();
}

bool StepDetector::is_worth_resuming() {
  if (credit_ < kStepsPerInterruption) return false;
  credit_ -= kStepsPerInterruption;
  return true;
}

void StepDetector::followed(std::uint64_t steps,
                            const std::vector<std::uint32_t>& begun) {
  followed_ += steps;
  credit_ = std::min(credit_ + steps, kMaxCredit);
  if (state_ == State::kForgotten) return give_up();
  tracker_.assume(begun_, begun);
  cause_has_run_ = false;
  state_ = State::kInterrupted;
  if (is_worth_resuming()) return;
  give_up();
}

}  // namespace hvd::coordinator
