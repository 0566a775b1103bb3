// SPDX-License-Identifier: Apache-2.0
// How long a Turn may sleep, and the number of submissions that wakes it.
#include <algorithm>
#include <limits>

#include "horovodpp/core/thread/interruption.h"
#include "horovodpp/runtime/progress/sleep_limit.h"
#include "horovodpp/runtime/progress/turn.h"

namespace hvd::runtime {
namespace {

using Due = std::optional<Clock::TimePoint>;

Due earlier(const Due& a, const Due& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

std::optional<Clock::TimePoint> Turn::messages_due() const {
  return parts_.messages == nullptr ? std::nullopt : parts_.messages->due();
}

// Between steps the first submission always wakes: an idle rank would not
// notice a missing next one.
std::int64_t Turn::wakes_at() const {
  return is_busy() && !awaits_messages()
             ? static_cast<std::int64_t>(
                   parts_.coordinator.submissions_to_next())
             : 1;
}

// In a cycle a submission cannot matter before the batch is over; requests of
// peers are looked at in time.
std::int64_t Turn::polls_at() const {
  return parts_.coordinator.follows_cycle()
             ? std::numeric_limits<std::int64_t>::max()
             : 1;
}

bool Turn::is_rung_for_all() const {
  return !is_busy() && !beats_ && rings_for_all(wake_conditions(false));
}

std::optional<Clock::Duration> Turn::sleep_limit(bool is_busy,
                                                 Clock::TimePoint now) const {
  WakeConditions ahead = wake_conditions(is_busy);
  if (beats_) {
    const auto beat = beats_->next(now);
    ahead.due = ahead.due ? std::min(*ahead.due, beat) : beat;
  }
  if (rings_for_all(ahead)) return std::nullopt;
  return runtime::sleep_limit(ahead, now);
}

WakeConditions Turn::wake_conditions(bool is_busy) const {
  std::optional<Clock::TimePoint> due = parts_.coordinator.due();
  const auto loss = parts_.monitor.loss_due();
  if (loss && (!due || *loss < *due)) due = loss;
  due = earlier(due, messages_due());
  return {.several_nodes = several_nodes_,
          .polls_network = parts_.segment.local_rank() == 0 ||
                           parts_.router.has_used_network(),
          .is_busy = is_busy,
          .progress_due_after = parts_.router.progress_due_after(),
          .wakes_at = wakes_at(),
          .due = due};
}

std::optional<Clock::TimePoint> Turn::poll_due() const {
  auto due = earlier(parts_.coordinator.due(), messages_due());
  // A leader passes on what other ranks wait for, and mail of other nodes wakes
  // no rank.
  if (beats_) {
    const auto look = std::chrono::steady_clock::now() + kBusySleep;
    due = due ? std::min(*due, look) : look;
  }
  if (polls_at() > 1) {
    const auto look = std::chrono::steady_clock::now() + kMaxUnseenTime;
    due = due ? std::min(*due, look) : look;
  }
  if (const Interruption* const mine = Interruption::here()) {
    due = due ? std::min(*due, mine->due()) : mine->due();
  }
  return due;
}

}  // namespace hvd::runtime
