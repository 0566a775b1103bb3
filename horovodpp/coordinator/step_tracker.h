// SPDX-License-Identifier: Apache-2.0
// A StepTracker cuts what is scheduled into steps: a step ends where all of the
// step before has run again, each operation once, in any order. It counts how
// many equal ones there have been in a row.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace hvd::coordinator {

using OperationIds = absl::flat_hash_set<std::uint32_t>;

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
  int equal_ = 0;
  std::vector<std::uint32_t> last_;
  std::vector<std::uint32_t> current_;
  std::vector<bool> last_ends_;  // One for each.
  std::vector<bool> current_ends_;
  OperationIds in_last_;
  OperationIds in_current_;
};

}  // namespace hvd::coordinator
