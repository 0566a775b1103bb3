// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/trace/trace_follower.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "horovodpp/core/thread/thread_start.h"

namespace hvd::telemetry {
namespace {

using std::chrono::steady_clock;
using trace::kSlots;

// The pause between two looks: longer while nothing happens. A rank that writes
// a million events a second fills the ring in 16 ms.
constexpr std::chrono::milliseconds kShortestPause(1);
constexpr std::chrono::milliseconds kLongestPause(10);

}  // namespace

TraceFollower::TraceFollower(std::shared_ptr<trace::Recorder> recorder,
                             EventReader& reader)
    : recorder_(std::move(recorder)),
      trace_(recorder_->reader()),
      reader_(reader),
      next_(trace_.written()) {
  recorder_->follow();
}

absl::Status TraceFollower::start(const char* what) {
  auto thread = start_thread(what, [this] { run(); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

void TraceFollower::stop() {
  if (std::exchange(is_over_, true)) return;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
  recorder_->unfollow();
  flush();
}

void TraceFollower::flush() {
  MutexLock lock(mutex_);
  drain();
}

std::uint64_t TraceFollower::nanoseconds(std::uint64_t ticks) const {
  return trace::nanoseconds_at(ticks, trace_.began(), now_);
}

void TraceFollower::run() {
  auto pause = kShortestPause;
  MutexLock lock(mutex_);
  while (!stopped_) {
    pause = drain() ? kShortestPause : std::min(2 * pause, kLongestPause);
    const auto until = steady_clock::now() + pause;
    while (!stopped_ && stop_.wait_until(mutex_, until)) {
    }
  }
}

// Returns whether there were events.
bool TraceFollower::drain() {
  now_ = trace::Moment::now(trace_.by_counter());
  const std::uint64_t end = trace_.written();
  const bool is_any = next_ < end;
  while (next_ < end) {
    const std::optional<trace::Event> event = trace_.read(next_);
    if (event) {
      reader_.read(*event);
      ++next_;
      continue;
    }
    const std::uint64_t written = trace_.written();
    // Its thread is about to write it.
    if (written - next_ < kSlots) break;
    const std::uint64_t next = written - kSlots / 2;
    reader_.missed(next - next_);
    next_ = next;
  }
  reader_.pause();
  return is_any;
}

}  // namespace hvd::telemetry
