// SPDX-License-Identifier: Apache-2.0
// What a rank makes of silence: it has said that something waits for too long, and
// those above it in the tree, whose part it is to ask all ranks why, have asked
// nothing. Whoever is next above is then itself what the job waits for.
//
// Those who are closer to the root lose their patience first, so that the rank that is
// named is the one that is silent, and not one that waits in vain as well.
//
// Pure: no clock, no thread; `now` does not go back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "horovodpp/coordinator/message.h"
#include "horovodpp/coordinator/tree.h"
#include "horovodpp/core/clock.h"

namespace hvd::coordinator {

class Silence {
 public:
  // For rank `rank`, which says every `interval` what it waits for, and gives the
  // job up after `shutdown`; zero: never.
  Silence(const Tree& tree, int rank, Clock::Duration interval,
          Clock::Duration shutdown);

  // This rank has sent `message` up the tree.
  void said(const Stalled& message, Clock::TimePoint now);
  // A question has come down the tree: everybody above is there.
  void heard(Clock::TimePoint now);

  struct Finding {
    int rank = 0;  // Who is silent.
    Key key = {};
    std::uint32_t waited_ms = 0;
    bool is_fatal = false;  // Waited for so long that the job is given up.
  };
  // Once the patience with what was said has come to its end.
  std::optional<Finding> take(Clock::TimePoint now);
  // When take() will find something.
  std::optional<Clock::TimePoint> due() const {
    return open_ ? std::optional(due_) : std::nullopt;
  }
  bool is_due(Clock::TimePoint now) const { return open_ && now >= due_; }

 private:
  const Clock::Duration interval_;
  const Clock::Duration shutdown_;
  int above_ = Tree::kNone;
  Clock::Duration patience_{0};
  Clock::Duration behind_{0};  // Those who are closer to the root.
  std::optional<Finding> open_;
  Clock::TimePoint due_ = {};  // When `open_` is told.
  // Since when all that was said has been without an answer.
  std::optional<Clock::TimePoint> silent_since_;
  Clock::TimePoint said_at_ = {};
  std::optional<Clock::TimePoint> heard_at_;
};

// For people: who does not answer, and what waits. `remark` is what is to be seen of
// the rank from here, or empty.
std::string silence_text(const Silence::Finding& finding,
                         const std::string& described,
                         const std::string& remark);

}  // namespace hvd::coordinator
