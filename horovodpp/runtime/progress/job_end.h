// SPDX-License-Identifier: Apache-2.0
// The JobEnd is what a rank does when its job ends: it makes one reason out of
// whatever went wrong, tells the other ranks, fails what is in flight, and sees
// its last messages off.
//
// Driven by one thread at a time.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "horovodpp/runtime/progress/loop_parts.h"

namespace hvd::runtime {

class JobEnd {
 public:
  explicit JobEnd(const LoopParts& parts);

  // Makes `why` the reason of the job's end, unless there is one; returns the
  // reason.
  absl::Status settle(const absl::Status& why);

  // Settles, and tells the other nodes. Every rank of a node does so: its leader
  // may be the one that died.
  absl::Status break_down(const absl::Status& why);

  // The same in a catch clause; throws nothing, even without memory.
  absl::Status break_down_after_throw() noexcept;

  // In a catch clause: what was thrown.
  absl::Status what_was_thrown() const noexcept;

  // Messages still on their way are seen off; peers may need them to end, too.
  absl::Status say_goodbye();

 private:
  absl::Status publish(const absl::Status& why);
  void tell_other_nodes(const absl::Status& reason);

  const LoopParts parts_;
  // Made while there is memory.
  const absl::Status out_of_memory_;
  const std::string out_of_memory_text_;
};

}  // namespace hvd::runtime
