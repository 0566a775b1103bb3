// SPDX-License-Identifier: Apache-2.0
// The JobEnd ends a rank's part in its job. It settles on one reason for all
// errors, tells the other ranks, fails the operations in flight, and sends the
// last messages.
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

  // Makes `why` the reason of the job's end, unless one exists; returns the
  // reason.
  absl::Status settle(const absl::Status& why);

  // Settles, and tells the other nodes. Every rank of a node does so, because
  // its leader may have died.
  absl::Status break_down(const absl::Status& why);

  // The same in a catch clause; throws nothing, even without memory.
  absl::Status break_down_after_throw() noexcept;

  // The current exception as a status, in a catch clause.
  absl::Status current_exception_status() const noexcept;

  // Sends the messages that are still on their way; peers may need them to end.
  absl::Status send_last_messages();

 private:
  absl::Status publish(const absl::Status& why);
  void notify_other_nodes(const absl::Status& reason);

  const LoopParts parts_;
  bool is_recorded_ = false;  // In the trace.
  // Created while memory is available.
  const absl::Status out_of_memory_;
  const std::string out_of_memory_text_;
};

}  // namespace hvd::runtime
