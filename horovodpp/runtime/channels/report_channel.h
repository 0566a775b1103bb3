// SPDX-License-Identifier: Apache-2.0
// A ReportChannel takes reports of any thread to the job's loop, which sends
// them to rank 0. There the loop hands all ranks' reports to `receive`.
// Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "horovodpp/core/thread/mutex.h"

namespace hvd::runtime {

class ReportChannel {
 public:
  using Receive = std::function<void(int from, std::string_view report)>;
  explicit ReportChannel(Receive receive) : receive_(std::move(receive)) {}

  // The loop sends it in its next turn: ring its bell.
  void send(std::string report) {
    MutexLock lock(mutex_);
    unsent_.push_back(std::move(report));
    has_unsent_.store(true);
  }

  // For the loop.
  bool has_unsent() const {
    return has_unsent_.load(std::memory_order_relaxed);
  }
  std::vector<std::string> take_unsent() {
    MutexLock lock(mutex_);
    has_unsent_.store(false);
    return std::exchange(unsent_, {});
  }
  void received(int from, std::string_view report) const {
    receive_(from, report);
  }

 private:
  const Receive receive_;
  std::atomic<bool> has_unsent_{false};
  Mutex mutex_;
  std::vector<std::string> unsent_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::runtime
