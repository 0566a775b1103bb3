// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/root/step_tracker.h"

#include <algorithm>
#include <utility>

namespace hvd::coordinator {
namespace {

// Added to an id for each further run within a step.
constexpr std::uint64_t kOnceMore = std::uint64_t{1} << 32;

// Most runs of an operation in a step, and fewest steps needed to infer that.
constexpr std::uint32_t kMaxTimes = 4;
constexpr std::uint32_t kFewestSteps = 3;

// After this many steps unlike their predecessors, the detector counts runs.
constexpr int kOddSteps = 16;

// The key of the next run of `id` in a step that has run `begun`.
std::uint64_t next_time_after(const OperationIds& begun, std::uint32_t id) {
  std::uint64_t time = id;
  while (begun.contains(time)) time += kOnceMore;
  return time;
}

}  // namespace

std::uint64_t StepTracker::next_time(std::uint32_t id) const {
  return next_time_after(in_current_, id);
}

OperationIds StepTracker::times(const std::vector<std::uint32_t>& ids) {
  OperationIds all;
  for (const std::uint32_t id : ids) all.insert(next_time_after(all, id));
  return all;
}

bool StepTracker::ran(std::uint32_t id, bool ends_batch) {
  ++counts_[id];
  if (current_.empty() && !in_last_.contains(id)) {
    // The last step was incomplete: extend it.
    equal_ = 0;
    current_ = std::exchange(last_, {});
    current_ends_ = std::exchange(last_ends_, {});
    in_current_ = std::exchange(in_last_, {});
  }
  std::uint64_t time = next_time(id);
  if (time != id && !in_last_.contains(time)) {
    // A new step begins, and the previous one differed from its predecessor.
    close_step();
    note_odd_step();
    time = id;
  }
  current_.push_back(id);
  current_ends_.push_back(ends_batch);
  in_current_.insert(time);
  if (equal_ == 0 || in_current_ != in_last_) return false;
  last_ = std::exchange(current_, {});
  last_ends_ = std::exchange(current_ends_, {});
  in_current_.clear();
  ++equal_;
  // An operation that runs several times in a row also looks like equal steps.
  if (equal_ > static_cast<int>(kMaxTimes)) {
    counts_.clear();
    odd_steps_ = 0;
  }
  return true;
}

void StepTracker::expect(OperationIds step) {
  in_last_ = std::move(step);
  has_repeats_ =
      std::any_of(in_last_.begin(), in_last_.end(),
                  [](std::uint64_t time) { return time >= kOnceMore; });
}

bool StepTracker::slide(std::uint32_t id, bool ends_batch) {
  if (!has_repeats_ || !is_between_steps() || last_.front() != id) return false;
  std::rotate(last_.begin(), last_.begin() + 1, last_.end());
  std::rotate(last_ends_.begin(), last_ends_.begin() + 1, last_ends_.end());
  last_ends_.back() = ends_batch;
  return true;
}

void StepTracker::note_odd_step() {
  if (++odd_steps_ < kOddSteps) return;
  expect_as_counted();
  counts_.clear();
  odd_steps_ = 0;
}

// Any window as long as a step contains each operation as often as a step does,
// so the start of the window does not matter.
void StepTracker::expect_as_counted() {
  std::uint32_t steps = 0;
  for (const auto& [id, count] : counts_) {
    // An operation that ran once may belong to no step.
    if (count > 1) steps = steps == 0 ? count : std::min(steps, count);
  }
  if (steps < kFewestSteps) return;
  std::vector<std::uint32_t> step;
  bool comes_again = false;
  for (const auto& [id, count] : counts_) {
    if (count == 1) continue;
    const std::uint32_t times = (count + steps / 2) / steps;
    const std::uint32_t whole = times * steps;
    const std::uint32_t rest = std::max(count, whole) - std::min(count, whole);
    // Partly counted steps explain no larger rest.
    if (times > kMaxTimes || rest > times) return;
    step.insert(step.end(), times, id);
    comes_again = comes_again || times > 1;
  }
  if (!comes_again) return;
  equal_ = 1;
  expect(times(step));
  last_ends_.assign(step.size(), true);
  last_ = std::move(step);
}

void StepTracker::close_step() {
  equal_ = 1;
  last_ = std::exchange(current_, {});
  last_ends_ = std::exchange(current_ends_, {});
  expect(std::exchange(in_current_, {}));
}

void StepTracker::assume(std::vector<std::uint32_t> all,
                         const std::vector<std::uint32_t>& begun) {
  equal_ = 1;
  expect(times(all));
  last_ends_.assign(all.size(), true);
  last_ = std::move(all);
  current_ends_.assign(begun.size(), true);
  current_ = begun;
  in_current_ = times(begun);
}

}  // namespace hvd::coordinator
