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

}  // namespace

void StepDetector::ran(std::uint32_t id) {
  if (steps_ == 0) return;
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
  current_.push_back(id);
  in_current_.insert(id);
  if (equal_ > 0 && in_current_ == in_last_) {
    ++equal_;
    last_ = std::exchange(current_, {});
    in_current_.clear();
  }
}

void StepDetector::disturb() {
  equal_ = 0;
  last_.clear();
  current_.clear();
  in_last_.clear();
  in_current_.clear();
}

std::vector<std::uint32_t> StepDetector::repeated() const {
  if (steps_ == 0 || !has_complete_step()) return {};
  if (hopeless_ == in_last_) return {};
  const int needed = failed_once_ == in_last_
                         ? std::min(kMostSteps, kSecondChance * needed_)
                         : needed_;
  return equal_ < needed ? std::vector<std::uint32_t>() : last_;
}

void StepDetector::begin() { begun_ = in_last_; }

void StepDetector::refuse() {
  hopeless_ = in_last_;
  disturb();
}

void StepDetector::followed(std::uint64_t steps) {
  if (steps == 0) {
    if (failed_once_ == begun_) hopeless_ = begun_;
    failed_once_ = begun_;
  } else if (steps >= static_cast<std::uint64_t>(needed_)) {
    // It was of use for as long as it was waited for: what ended it, as a barrier
    // now and then, is no reason to wait longer next time.
    needed_ = steps_;
  } else {
    needed_ = std::min(kMostSteps, 2 * needed_);
  }
  disturb();
}

}  // namespace hvd::coordinator
