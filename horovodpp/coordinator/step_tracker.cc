// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/step_tracker.h"

namespace hvd::coordinator {

bool StepTracker::ran(std::uint32_t id, bool ends_batch) {
  if (current_.empty() && !in_last_.contains(id)) {
    // The last step was not complete: it has grown.
    equal_ = 0;
    current_ = std::exchange(last_, {});
    current_ends_ = std::exchange(last_ends_, {});
    in_current_ = std::exchange(in_last_, {});
  }
  if (in_current_.contains(id)) {
    // A new step begins, and the one before was not like its predecessor.
    close_step();
  }
  current_.push_back(id);
  current_ends_.push_back(ends_batch);
  in_current_.insert(id);
  if (equal_ == 0 || in_current_ != in_last_) return false;
  last_ = std::exchange(current_, {});
  last_ends_ = std::exchange(current_ends_, {});
  in_current_.clear();
  ++equal_;
  return true;
}

void StepTracker::close_step() {
  equal_ = 1;
  last_ = std::exchange(current_, {});
  last_ends_ = std::exchange(current_ends_, {});
  in_last_ = std::exchange(in_current_, {});
}

void StepTracker::assume(std::vector<std::uint32_t> all,
                         const std::vector<std::uint32_t>& begun) {
  equal_ = 1;
  in_last_ = {all.begin(), all.end()};
  last_ends_.assign(all.size(), true);
  last_ = std::move(all);
  current_ends_.assign(begun.size(), true);
  current_ = begun;
  in_current_ = {begun.begin(), begun.end()};
}

}  // namespace hvd::coordinator
