// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/step_detector.h"

#include <algorithm>
#include <utility>

namespace hvd::coordinator {
namespace {

// The most equal steps that are waited for.
constexpr int kMostSteps = 256;

// An order that was never followed may have met a program's one odd step: it is
// waited for so many times longer, and given up only then.
constexpr int kSecondChance = 8;

// An order that was interrupted goes on if it was followed for so many steps since
// the last time, or, where interruptions come in groups, before. Steps are saved
// up to a limit, so that a program that has become another one is noticed.
constexpr std::uint64_t kStepsPerInterruption = 2;
constexpr std::uint64_t kMostCredit = 8 * kStepsPerInterruption;

// As many steps may go by, where others' work overlaps with each.
constexpr int kStepsToResume = 4;

}  // namespace

void StepDetector::ran(std::uint32_t id) {
  if (steps_ == 0) return;
  if (state_ == State::kInterrupted) {
    if (!in_last_.contains(id)) {
      cause_has_run_ = true;
      return;
    }
    // The step that was interrupted never ended.
    if (in_current_.contains(id)) give_up();
  }
  if (current_.empty() && !in_last_.contains(id)) {
    // The last step was not complete: it has grown.
    equal_ = 0;
    current_ = std::exchange(last_, {});
    in_current_ = std::exchange(in_last_, {});
  }
  if (in_current_.contains(id)) {
    // A new step begins, and the one before was not like its predecessor.
    equal_ = 1;
    last_ = std::exchange(current_, {});
    in_last_ = std::exchange(in_current_, {});
  }
  is_wanted_ = false;
  current_.push_back(id);
  in_current_.insert(id);
  if (equal_ > 0 && in_current_ == in_last_) complete_step();
}

void StepDetector::complete_step() {
  last_ = std::exchange(current_, {});
  in_current_.clear();
  if (state_ == State::kInterrupted) {
    const int patience = cause_has_run_ ? kStepsToResume : 1;
    if (++completed_ <= patience) return;
    give_up();
  }
  ++equal_;
  if (hopeless_ == in_last_) return;
  const int needed = failed_once_ == in_last_
                         ? std::min(kMostSteps, kSecondChance * needed_)
                         : needed_;
  is_wanted_ = equal_ >= needed;
}

// The order that was begun last is not resumed: what was it worth?
void StepDetector::give_up() {
  state_ = State::kForgotten;
  if (followed_ == 0) {
    if (failed_once_ == begun_) hopeless_ = begun_;
    failed_once_ = begun_;
  } else if (followed_ >= static_cast<std::uint64_t>(needed_)) {
    // It was of use for as long as it was waited for: what ended it, as a barrier
    // now and then, is no reason to wait longer next time.
    needed_ = steps_;
  } else {
    needed_ = std::min(kMostSteps, 2 * needed_);
  }
}

void StepDetector::ran_once() {
  if (state_ == State::kInterrupted) {
    cause_has_run_ = true;
  } else {
    disturb();
  }
}

void StepDetector::retired(std::uint32_t id) {
  if (state_ != State::kForgotten && !begun_.contains(id)) return;
  disturb();
}

void StepDetector::disturb() {
  equal_ = 0;
  is_wanted_ = false;
  state_ = State::kForgotten;
  last_.clear();
  current_.clear();
  in_last_.clear();
  in_current_.clear();
}

const std::vector<std::uint32_t>& StepDetector::repeated() const {
  static const std::vector<std::uint32_t> kNone;
  return is_wanted_ && has_complete_step() ? last_ : kNone;
}

void StepDetector::begin() {
  begun_ = in_last_;
  followed_ = 0;
  credit_ = kStepsPerInterruption;  // The first one may come early.
  resume();
}

void StepDetector::resume() {
  state_ = State::kInForce;
  is_wanted_ = false;
}

void StepDetector::refuse() {
  hopeless_ = in_last_;
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
  credit_ = std::min(credit_ + steps, kMostCredit);
  if (state_ == State::kForgotten) return give_up();
  // As if all of it had been seen to run.
  in_last_ = begun_;
  current_ = begun;
  in_current_ = {begun.begin(), begun.end()};
  equal_ = 1;
  cause_has_run_ = false;
  completed_ = 0;
  state_ = State::kInterrupted;
  if (is_worth_resuming()) return;
  equal_ = 0;
  give_up();
}

}  // namespace hvd::coordinator
