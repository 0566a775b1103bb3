// SPDX-License-Identifier: Apache-2.0
// Silence detects an unresponsive rank above this one in the tree. This rank
// has reported a stall, and the ranks above, which should ask all ranks why,
// have asked nothing. Then the job may wait for the next rank above itself.
//
// Ranks closer to the root have a shorter timeout. So the error names the
// silent rank, not a rank that waits in vain as well.
//
// Pure: no clock, no thread; `now` does not go back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "horovodpp/coordinator/protocol/message.h"
#include "horovodpp/coordinator/protocol/tree.h"
#include "horovodpp/core/thread/clock.h"

namespace hvd::coordinator {

class Silence {
 public:
  // For rank `rank`, which reports stalls every `interval`, and fails the job
  // after `shutdown`; zero: never.
  Silence(const Tree& tree, int rank, Clock::Duration interval,
          Clock::Duration shutdown);

  // This rank has sent `message` up the tree.
  void reported(const Stalled& message, Clock::TimePoint now);
  // A question has come down the tree: all ranks above are alive.
  void questioned(Clock::TimePoint now);

  struct Finding {
    int rank = 0;  // The silent rank.
    Key key = {};
    std::uint32_t waited_ms = 0;
    bool is_fatal = false;  // Waited so long that the job fails.
  };
  // The finding, once the timeout has passed.
  std::optional<Finding> take(Clock::TimePoint now);
  // When take() has a finding.
  std::optional<Clock::TimePoint> due() const {
    return open_ ? std::optional(due_) : std::nullopt;
  }
  bool is_due(Clock::TimePoint now) const { return open_ && now >= due_; }

 private:
  const Clock::Duration interval_;
  const Clock::Duration shutdown_;
  int above_ = Tree::kNone;
  Clock::Duration timeout_{0};
  Clock::Duration behind_{0};  // Extra time over ranks nearer the root.
  std::optional<Finding> open_;
  Clock::TimePoint due_ = {};  // When `open_` is reported.
  // Start of the period in which no report was answered.
  std::optional<Clock::TimePoint> silent_since_;
  Clock::TimePoint reported_at_ = {};
  std::optional<Clock::TimePoint> questioned_at_;
};

// The message for users: which rank does not answer, and the operation that
// waits. `silence_cause` is what this rank can see of that rank, or empty.
std::string silence_text(const Silence::Finding& finding,
                         const std::string& described,
                         const std::string& silence_cause);

}  // namespace hvd::coordinator
