// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/call_watch.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "horovodpp/core/thread/thread_start.h"

namespace hvd::runtime {

CallWatch::~CallWatch() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::Status CallWatch::start() {
  auto thread = start_thread("watches the calls of MPI", [this] { run(); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

bool CallWatch::poll() {
  const transport::CallMeter::Now now = calls_.now();
  if (now.what == nullptr) {
    looks_ = 0;
    return false;
  }
  looks_ = now.number == number_ ? looks_ + 1 : 1;
  number_ = now.number;
  return looks_ > kLooks || (looks_ > kLooksIfBroken && options_.is_broken());
}

void CallWatch::run() {
  const auto interval = std::max<std::chrono::nanoseconds>(
      options_.timeout / kLooks, std::chrono::milliseconds(1));
  MutexLock lock(mutex_);
  while (!stopped_) {
    const auto next = std::chrono::steady_clock::now() + interval;
    while (!stopped_ && stop_.wait_until(mutex_, next)) {
    }
    if (stopped_ || !poll()) continue;
    const char* const what = calls_.now().what;
    if (what == nullptr) continue;  // It returned just now.
    on_caught_(what);
    return;
  }
}

}  // namespace hvd::runtime
