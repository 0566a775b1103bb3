// SPDX-License-Identifier: Apache-2.0
// A StepTracker cuts what is scheduled into steps: a step ends where all of the
// step before has run again, each operation as often, in any order. It counts how
// many equal ones there have been in a row.
//
// At first each operation is expected once in a step. Where steps never become
// equal like that, the operations' numbers tell how often each comes.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace hvd::coordinator {

// Of a step: an id stands for the first time that an operation runs in it; see
// StepTracker for the others.
using OperationIds = absl::flat_hash_set<std::uint64_t>;

class StepTracker {
 public:
  // `id` is scheduled, as the last of its batch or not: whether that completes a
  // step equal to the one before.
  bool ran(std::uint32_t id, bool ends_batch = true);

  // What has run since the last step is a step, too, though nobody knows yet
  // whether it comes again.
  void close_step();

  // As if a step of `all`, and then `begun` of the next one, had been seen to run.
  void assume(std::vector<std::uint32_t> all,
              const std::vector<std::uint32_t>& begun);

  void clear() { *this = StepTracker(); }

  // `id` is scheduled, and is what the last step began with: where operations come
  // more than once in a step, that may as well have begun one later, and there is
  // still nothing of the next. False, and nothing has happened, where it is not so.
  bool slide(std::uint32_t id, bool ends_batch);

  // Whether `id`, if it runs, does so more often than in the last step.
  bool is_surplus(std::uint32_t id) const {
    return !in_last_.contains(next_time(id));
  }

  // Complete steps like the last one, it included.
  int equal() const { return equal_; }

  // The last complete step, in its order; and what has run of the next one.
  const std::vector<std::uint32_t>& last() const { return last_; }
  // Which of those were the last of their batches.
  const std::vector<bool>& batch_ends() const { return last_ends_; }
  const OperationIds& in_last() const { return in_last_; }
  const OperationIds& in_current() const { return in_current_; }
  // Whether there is one, and nothing of the next has run.
  bool is_between_steps() const { return !last_.empty() && current_.empty(); }

 private:
  // The next time that `id` runs in this step.
  std::uint64_t next_time(std::uint32_t id) const;
  static OperationIds times(const std::vector<std::uint32_t>& ids);
  void note_odd_step();
  void expect_as_counted();
  void expect(OperationIds step);

  int equal_ = 0;
  std::vector<std::uint32_t> last_;
  std::vector<std::uint32_t> current_;
  std::vector<bool> last_ends_;  // One for each.
  std::vector<bool> current_ends_;
  OperationIds in_last_;
  bool has_repeats_ = false;  // In the last step.
  OperationIds in_current_;

  // While no order is found: how often each has run, and how many steps were not
  // like those before them.
  absl::flat_hash_map<std::uint32_t, std::uint32_t> counts_;
  int odd_steps_ = 0;
};

}  // namespace hvd::coordinator
