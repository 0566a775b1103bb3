// SPDX-License-Identifier: Apache-2.0
// A StallInspector finds out, at the root, who keeps others waiting: it has all
// ranks asked about a name, down the tree. At each leader a StallGatherer
// collects the answers of its subtree, waits for them only so long, and says
// which ranks did not answer. The root makes a text of it.
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
#include "horovodpp/coordinator/message.h"
#include "horovodpp/coordinator/tree.h"
#include "horovodpp/core/clock.h"

namespace hvd::coordinator {

// Said of a rank that is there as far as anybody knows, but silent.
inline constexpr char kDoesNotAnswer[] = "does not answer";

// "61 s", rounded.
std::string seconds_text(std::uint32_t ms);

// Whether what was said has waited so long that the job is to be given up, which is
// after `shutdown`; zero: never.
bool ends_the_job(const Stalled& message, Clock::Duration shutdown);

// What one rank says when asked about a name that concerns it or not.
Inspected answer_of(std::uint32_t query, const RankState& state,
                    bool is_concerned);

// What to tell the user:
//   "'fc1.weight' has waited for 61 s: ranks [0, 2] have submitted it, but not
//    rank 1 (host 'a', pid 4711), whose last submission was 'loss' 58 s ago"
// `describe` names a rank.
std::string stall_text(const Key& key, std::uint32_t waited_ms,
                       const Inspected& found,
                       const std::function<std::string(int)>& describe);

// One leader's part.
class StallGatherer {
 public:
  // `remark`: what this leader can see of a rank of its node that does not
  // answer.
  StallGatherer(std::shared_ptr<const Tree> tree, int node,
                std::function<std::string(int rank)> remark);

  // The leader has been asked; it has its ranks and children asked, too.
  void begin(std::uint32_t query, Clock::TimePoint now);
  // Rank `from` of this node, or a child's leader, has answered.
  absl::Status receive(int from, const Inspected& answer);

  // Answers that are complete, or as complete as they will be by now.
  std::vector<Inspected> take(Clock::TimePoint now);
  bool is_asking() const { return !open_.empty(); }
  std::optional<Clock::TimePoint> due() const;

 private:
  struct Open {
    Inspected found = {};
    std::vector<int> awaited = {};  // Ranks.
    Clock::TimePoint deadline = {};
  };

  const std::shared_ptr<const Tree> tree_;
  const int node_;
  const std::function<std::string(int)> remark_;
  Clock::Duration patience_;
  std::map<std::uint32_t, Open> open_;
};

// The root's part: what is asked, and what came of it.
class StallInspector {
 public:
  StallInspector(Clock::Duration interval, Clock::Duration shutdown)
      : interval_(interval), shutdown_(shutdown) {}

  // Somebody has waited. The question to ask, unless it is asked already.
  std::optional<Inspect> stalled(const Stalled& message, Clock::TimePoint now);

  struct Finding {
    Key key = {};
    std::uint32_t waited_ms = 0;
    bool is_join = false;
    bool is_fatal = false;  // Waited for so long that the job is given up.
  };
  // What the answers to a question tell; nullopt if nothing is amiss (any more).
  std::optional<Finding> answered(const Inspected& found);

 private:
  // Answers may be long, and say the same about every name of a step.
  static constexpr std::ptrdiff_t kMostOpen = 4;  // Of each kind, fatal or not.

  const Clock::Duration interval_;
  const Clock::Duration shutdown_;
  std::uint32_t next_query_ = 1;
  std::map<std::uint32_t, Finding> open_;
  std::map<Key, Clock::TimePoint> asked_at_;
};

}  // namespace hvd::coordinator
