// When a Progress may sleep, and for how long.
#include <algorithm>
#include <chrono>
#include <optional>

#include "horovodpp/runtime/progress.h"

namespace hvd::runtime {
namespace {

using std::chrono::steady_clock;

// How long a rank sleeps at most where news may come from another node, which
// rings no bell: with work in flight, and without.
constexpr std::chrono::microseconds kBusySleep(100);
constexpr std::chrono::milliseconds kIdleSleep(50);

// Likewise, where data that was sent may not have left yet.
constexpr std::chrono::milliseconds kDataSleep(1);

// How long submissions that cannot matter yet lie unseen at most.
constexpr std::chrono::milliseconds kUnseen(10);

}  // namespace

bool Progress::busy() const {
  return parts_.coordinator.has_in_flight() || leaving_ || next_;
}

// What a step begins with is always looked at: an idle rank would not notice that
// nothing follows.
std::size_t Progress::submissions_to_wake_at() const {
  return busy() ? parts_.coordinator.submissions_to_next() : 1;
}

std::chrono::nanoseconds Progress::patience(bool is_busy) const {
  std::chrono::nanoseconds patience(-1);
  const auto at_most = [&](std::chrono::nanoseconds limit) {
    limit = std::max(limit, std::chrono::nanoseconds(0));
    patience = patience.count() < 0 ? limit : std::min(patience, limit);
  };
  if (parts_.router.is_sending()) at_most(kBusySleep);
  if (parts_.router.is_sending_data()) at_most(kDataSleep);
  if (submissions_to_wake_at() > 1) at_most(kUnseen);
  if (several_nodes_) {
    const bool leader = parts_.segment.local_rank() == 0;
    if (is_busy) {
      at_most(kBusySleep);
    } else if (leader) {
      at_most(kIdleSleep);
    }
  }
  const auto now = steady_clock::now();
  if (const auto due = parts_.monitor.loss_due()) at_most(*due - now);
  if (const auto due = parts_.coordinator.due()) at_most(*due - now);
  if (beats_) at_most(beats_->next(now) - now);
  return patience;
}

absl::StatusOr<bool> Progress::try_to_sleep(Listener as,
                                            std::optional<Sleep>& sleep) {
  const bool is_busy = busy();
  const auto now = steady_clock::now();
  const std::size_t wake_at = submissions_to_wake_at();
  // While this rank's program has to go on first there is nothing to spin for.
  if (is_busy && wake_at == 1 && now - active_at_ < waiting_.spin) return false;
  const std::uint32_t ticket = bell().listen(as);
  // What came before listen() rang nobody: look once more.
  absl::StatusOr<bool> moved = turn();
  if (moved.ok() && !*moved && !ended()) {
    sleep = {.ticket = ticket, .began = now, .patience = patience(is_busy)};
    if (parts_.queue.wake_at(wake_at)) {
      // Somebody submitted under an older idea of it, and did not ring.
      sleep.reset();
      moved = true;
    }
  }
  if (!sleep) bell().leave(as);
  return moved;
}

bool Progress::needs_driver() const {
  if (end_ || busy() || parts_.queue.has_news()) return true;
  const std::chrono::nanoseconds needed = patience(false);
  if (needed.count() < 0 || !resting_) return false;
  return resting_->patience.count() < 0 ||
         steady_clock::now() + needed < resting_->began + resting_->patience;
}

std::optional<steady_clock::time_point> Progress::attend_due() const {
  auto due = parts_.coordinator.due();
  // A leader passes on what others wait for, and mail of other nodes wakes
  // nobody.
  if (beats_) {
    const auto sleep = steady_clock::now() + kBusySleep;
    due = due ? std::min(*due, sleep) : sleep;
  }
  return due;
}

}  // namespace hvd::runtime
