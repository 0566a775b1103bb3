// SPDX-License-Identifier: Apache-2.0
// The StepDetector watches what is scheduled, operation by operation, and sees
// when a program repeats itself: steps in which the same operations run, each
// once, in any order. After enough of them the root fixes the order.
//
// Programs that repeat themselves and then do not (a validation now and then)
// are waited for longer each time, unless the fixed order was of use. Where it
// could not even be followed once, it is tried one more time, much later, for
// these operations.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace hvd::coordinator {

class StepDetector {
 public:
  // `steps`: as many equal ones are enough; 0: never.
  explicit StepDetector(int steps) : steps_(steps), needed_(steps) {}

  // `id` is scheduled.
  void ran(std::uint32_t id);
  // Something that belongs to no step happens: a name is new, retired, or used
  // once.
  void disturb();

  // The operations of a step, in the order of the last one, if enough equal
  // ones have passed and the last is complete; else empty.
  std::vector<std::uint32_t> repeated() const;

  // Without it repeated() is empty.
  bool has_complete_step() const { return !last_.empty() && current_.empty(); }

  // Of what repeated() gives: it is in force from now on, or can never be.
  void begin();
  void refuse();

  // The order that was begun last was followed for so many whole steps.
  void followed(std::uint64_t steps);

 private:
  const int steps_;
  int needed_;
  int equal_ = 0;  // Complete steps like the last, it included.
  std::vector<std::uint32_t> last_;
  std::vector<std::uint32_t> current_;
  absl::flat_hash_set<std::uint32_t> in_last_;
  absl::flat_hash_set<std::uint32_t> in_current_;
  absl::flat_hash_set<std::uint32_t> begun_;
  absl::flat_hash_set<std::uint32_t> failed_once_;
  absl::flat_hash_set<std::uint32_t> hopeless_;
};

}  // namespace hvd::coordinator
