// SPDX-License-Identifier: Apache-2.0
// A QuestionChannel takes questions of any thread to the job's loop, which asks
// the coordinator: which ranks keep an operation waiting? Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "horovodpp/coordinator/protocol/request.h"
#include "horovodpp/core/thread/mutex.h"

namespace hvd::runtime {

class QuestionChannel {
 public:
  struct Question {
    std::uint32_t number = 0;
    coordinator::Key key = {};
  };

  // Asks about `key`, wakes the loop by `ring`, and waits for the answer;
  // nullopt: there was none in time.
  std::optional<std::string> ask(const coordinator::Key& key,
                                 const std::function<void()>& ring,
                                 std::chrono::nanoseconds timeout);

  // For the loop.
  bool has_unsent() const {
    return has_unsent_.load(std::memory_order_relaxed);
  }
  std::vector<Question> take_unsent() {
    MutexLock lock(mutex_);
    has_unsent_.store(false);
    return std::exchange(unsent_, {});
  }
  void answer(std::uint32_t number, std::string text);

 private:
  std::atomic<bool> has_unsent_{false};
  Mutex mutex_;
  std::uint32_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Question> unsent_ ABSL_GUARDED_BY(mutex_);
  // Open questions, and their answers.
  absl::flat_hash_map<std::uint32_t, std::optional<std::string>> answers_
      ABSL_GUARDED_BY(mutex_);
  CondVar answered_;
};

}  // namespace hvd::runtime
