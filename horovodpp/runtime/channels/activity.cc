// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/channels/activity.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/status/statusor.h"
#include "horovodpp/core/thread/thread_start.h"

namespace hvd::runtime {
namespace {

// Of a sample.
constexpr std::size_t kMaxSampled = 64;

}  // namespace

void Activity::begins(const coordinator::Batch& batch) {
  MutexLock lock(mutex_);
  progress_.collectives += static_cast<std::int64_t>(batch.entries.size());
  progress_.last = batch.entries.back().agreed->key.name;
}

RankProgress Activity::now() const {
  MutexLock lock(mutex_);
  return progress_;
}

void LongestWait::see(
    const std::vector<coordinator::TensorQueue::InFlight>& sample,
    Clock::TimePoint now, RankProgress& progress) {
  std::vector<Waiting> waiting;
  for (const coordinator::TensorQueue::InFlight& one : sample) {
    const auto known = std::find_if(
        waiting_.begin(), waiting_.end(),
        [&](const Waiting& earlier) { return earlier.what == one; });
    waiting.push_back({one, known == waiting_.end() ? now : known->since});
  }
  waiting_ = std::move(waiting);
  const auto longest = std::min_element(
      waiting_.begin(), waiting_.end(), [](const Waiting& a, const Waiting& b) {
        return std::tie(a.since, a.what.key) < std::tie(b.since, b.what.key);
      });
  if (longest == waiting_.end() || longest->since == now) return;
  progress.waiting = longest->what.key.name;
  progress.waiting_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                            now - longest->since)
                            .count();
}

ActivityReporter::~ActivityReporter() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::Status ActivityReporter::start() {
  auto thread = start_thread("reports to --watch", [this] { run(); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

void ActivityReporter::run() {
  MutexLock lock(mutex_);
  while (!stopped_) {
    const Clock::TimePoint now = Clock::steady().now();
    RankProgress progress = activity_.now();
    longest_.see(queue_.in_flight(kMaxSampled), now, progress);
    launcher_.progress(progress);
    while (!stopped_ && stop_.wait_until(mutex_, now + kInterval)) {
    }
  }
}

}  // namespace hvd::runtime
