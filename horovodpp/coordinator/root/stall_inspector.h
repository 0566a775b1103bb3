// SPDX-License-Identifier: Apache-2.0
// StallInspector, at the root, finds which ranks keep others waiting. It asks
// all ranks about a name, down the tree. At each leader, a StallGatherer
// collects the answers of its subtree until a timeout and lists ranks that did
// not answer. The root makes the message.
//
// A pure state machine: no thread, no clock of its own, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/coordinator/protocol/message.h"
#include "horovodpp/coordinator/protocol/tree.h"
#include "horovodpp/core/thread/clock.h"

namespace hvd::coordinator {

// Remark on a rank that is presumed alive but silent.
inline constexpr char kDoesNotAnswer[] = "does not answer";

// "61 s", rounded.
std::string seconds_text(std::uint32_t ms);

// Whether `message` has waited for `shutdown`, so that the job fails. Zero:
// never.
bool ends_the_job(const Stalled& message, Clock::Duration shutdown);

// One rank's answer about a name. `is_concerned`: the rank must submit the
// name.
Inspected answer_of(std::uint32_t query, const RankState& state,
                    bool is_concerned);

// The message for users:
//   "'fc1.weight' has waited for 61 s: ranks [0, 2] have submitted it, but not
//    rank 1 (host 'a', pid 4711), whose last submission was 'loss' 58 s ago"
// `describe` names a rank.
std::string stall_text(const Key& key, std::uint32_t waited_ms,
                       const Inspected& found,
                       const std::function<std::string(int)>& describe);

// A leader's part.
class StallGatherer {
 public:
  // `explain_silence` says what this leader can see of a local rank that does
  // not answer.
  StallGatherer(std::shared_ptr<const Tree> tree, int node,
                std::function<std::string(int rank)> explain_silence);

  // The leader received a question and passes it to its ranks and children.
  void begin(std::uint32_t query, Clock::TimePoint now);
  // Rank `from` of this node, or a child's leader, has answered.
  absl::Status receive(int from, const Inspected& answer);

  // Answers that are complete or have timed out.
  std::vector<Inspected> take(Clock::TimePoint now);
  bool is_asking() const { return !open_.empty(); }
  std::optional<Clock::TimePoint> due() const;

 private:
  struct Open {
    Inspected found = {};
    std::vector<int> awaited = {};  // Ranks.
    Clock::TimePoint begun = {};
  };
  Clock::TimePoint deadline(const Open& open) const;

  const std::shared_ptr<const Tree> tree_;
  const int node_;
  const std::function<std::string(int)> explain_silence_;
  Clock::Duration timeout_;
  std::map<std::uint32_t, Open> open_;
  // By rank: when its first question since its last answer was asked.
  std::map<int, Clock::TimePoint> silent_since_;
};

// The root's part: open questions and their results.
class StallInspector {
 public:
  StallInspector(Clock::Duration interval, Clock::Duration shutdown)
      : interval_(interval), shutdown_(shutdown) {}

  // A rank reports a stall. Returns the question to ask, unless it is already
  // open.
  std::optional<Inspect> stalled(const Stalled& message, Clock::TimePoint now);

  // A rank asks by itself, and gets the answer (Stalled::asker).
  Inspect asked(const Stalled& message);

  struct Finding {
    Key key = {};
    std::uint32_t waited_ms = 0;
    bool is_join = false;
    bool is_fatal = false;  // Waited so long that the job fails.
    int asker = -1;         // As of Stalled.
    std::uint32_t question = 0;
  };
  // The result of a question; nullopt if the stall is over, and no rank has
  // asked.
  std::optional<Finding> answered(const Inspected& found);

 private:
  // Limits open questions: answers can be long and similar for all names of a
  // step.
  static constexpr std::ptrdiff_t kMaxOpen = 4;  // Of each kind, fatal or not.

  const Clock::Duration interval_;
  const Clock::Duration shutdown_;
  std::uint32_t next_query_ = 1;
  std::map<std::uint32_t, Finding> open_;
  std::map<Key, Clock::TimePoint> asked_at_;
};

}  // namespace hvd::coordinator
