// SPDX-License-Identifier: Apache-2.0
// StepTracker cuts the scheduled operations into steps. A step ends when all
// operations of the previous step have run again, each as often, in any order.
// The tracker counts equal steps in a row.
//
// At first it expects each operation once in a step. If steps never become
// equal that way, the counts of runs tell how often each operation occurs.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace hvd::coordinator {

// The runs of a step: an id stands for the operation's first run. StepTracker
// derives the keys of further runs.
using OperationIds = absl::flat_hash_set<std::uint64_t>;

class StepTracker {
 public:
  // `id` is scheduled; `ends_batch` if it is the last of its batch. Returns
  // whether that completes a step equal to the previous one.
  bool ran(std::uint32_t id, bool ends_batch = true);

  // Ends the step here, though it may not repeat.
  void close_step();

  // Sets the state as if a step of `all`, and then `begun` of the next, had
  // run.
  void assume(std::vector<std::uint32_t> all,
              const std::vector<std::uint32_t>& begun);

  void clear() { *this = StepTracker(); }

  // `id` is scheduled and began the last step. If operations occur several
  // times in a step, it may have begun one operation later: shifts it by one
  // and leaves the next step empty. Otherwise returns false, with no effect.
  bool slide(std::uint32_t id, bool ends_batch);

  // Whether another run of `id` exceeds its runs in the last step.
  bool is_surplus(std::uint32_t id) const {
    return !in_last_.contains(next_time(id));
  }

  // Equal complete steps in a row, including the last.
  int equal() const { return equal_; }

  // The operations of the last complete step, in order.
  const std::vector<std::uint32_t>& last() const { return last_; }
  // Flags of the operations that ended their batches.
  const std::vector<bool>& batch_ends() const { return last_ends_; }
  const OperationIds& in_last() const { return in_last_; }
  const OperationIds& in_current() const { return in_current_; }
  // Whether a step is complete and the next has not begun.
  bool is_between_steps() const { return !last_.empty() && current_.empty(); }

 private:
  // The key of the next run of `id` in this step.
  std::uint64_t next_time(std::uint32_t id) const;
  static OperationIds times(const std::vector<std::uint32_t>& ids);
  void note_odd_step();
  void expect_as_counted();
  void expect(OperationIds step);

  int equal_ = 0;
  std::vector<std::uint32_t> last_;
  std::vector<std::uint32_t> current_;
  std::vector<bool> last_ends_;  // One for each operation.
  std::vector<bool> current_ends_;
  OperationIds in_last_;
  bool has_repeats_ = false;  // Whether last_ runs any id twice.
  OperationIds in_current_;

  // Until an order is found: runs of each operation, and steps unlike their
  // predecessors.
  absl::flat_hash_map<std::uint32_t, std::uint32_t> counts_;
  int odd_steps_ = 0;
};

}  // namespace hvd::coordinator
