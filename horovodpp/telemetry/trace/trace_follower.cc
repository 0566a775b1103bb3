// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/trace/trace_follower.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "horovodpp/core/status.h"
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

TraceFollower::TraceFollower(std::shared_ptr<trace::Recorder> recorder)
    : recorder_(std::move(recorder)), trace_(recorder_->reader()) {}

TraceFollower::~TraceFollower() {
  {
    MutexLock lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::Status TraceFollower::add(EventReader& reader) {
  MutexLock lock(mutex_);
  if (!thread_.joinable()) {
    HVD_ASSIGN_OR_RETURN(
        thread_, start_thread("reads the recorded events", [this] { run(); }));
  }
  if (readers_.empty()) {
    next_ = trace_.written();
    operations_.forget();
  } else {
    drain();
  }
  recorder_->follow();
  readers_.push_back(&reader);
  changed_.notify_all();
  return absl::OkStatus();
}

void TraceFollower::remove(EventReader& reader) {
  MutexLock lock(mutex_);
  const auto found = std::find(readers_.begin(), readers_.end(), &reader);
  if (found == readers_.end()) return;
  recorder_->unfollow();
  drain();
  readers_.erase(found);
}

void TraceFollower::flush() {
  MutexLock lock(mutex_);
  drain();
}

void TraceFollower::run() {
  auto pause = kShortestPause;
  MutexLock lock(mutex_);
  while (!is_over_) {
    if (readers_.empty()) {
      changed_.wait(mutex_);
      continue;
    }
    pause = drain() ? kShortestPause : std::min(2 * pause, kLongestPause);
    const auto until = steady_clock::now() + pause;
    while (!is_over_ && changed_.wait_until(mutex_, until)) {
    }
  }
}

// Returns whether there were events.
bool TraceFollower::drain() {
  if (readers_.empty()) return false;
  time_ = {trace_.began(), trace::Moment::now(trace_.by_counter())};
  const std::uint64_t end = trace_.written();
  const bool is_any = next_ < end;
  while (next_ < end) {
    const std::optional<trace::Event> event = trace_.read(next_);
    if (event) {
      operations_.add(*event);
      for (EventReader* reader : readers_) reader->read(*event, operations_);
      ++next_;
      continue;
    }
    const std::uint64_t written = trace_.written();
    // Its thread is about to write it.
    if (written - next_ < kSlots) break;
    const std::uint64_t next = written - kSlots / 2;
    operations_.forget();
    for (EventReader* reader : readers_) {
      reader->missed(next - next_, operations_);
    }
    next_ = next;
  }
  for (EventReader* reader : readers_) reader->pause();
  return is_any;
}

}  // namespace hvd::telemetry
