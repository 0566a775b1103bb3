// SPDX-License-Identifier: Apache-2.0
// The interrupts and the waits of calls in tests.
#pragma once

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

using Clock = std::chrono::steady_clock;

inline Clock::time_point soon() {
  return Clock::now() + std::chrono::seconds(100);
}

// Interrupts a call only after so long that it must hang.
class NeverInterrupt : public transport::Interrupt {
 public:
  absl::Status check() override {
    if (Clock::now() < deadline_) return absl::OkStatus();
    return absl::DeadlineExceededError("the test hangs");
  }

 private:
  const Clock::time_point deadline_ = soon();
};

// Fails from the given check on.
class FailingInterrupt : public transport::Interrupt {
 public:
  explicit FailingInterrupt(int checks,
                            absl::Status failure = absl::UnavailableError(
                                "rank 7 was killed by signal 9"))
      : checks_(checks), failure_(std::move(failure)) {}
  absl::Status check() override {
    return checks_-- > 0 ? absl::OkStatus() : failure_;
  }

 private:
  int checks_;
  const absl::Status failure_;
};

// Short sleeps, for interrupts that ring no doorbell.
inline transport::WaitPolicy test_waiting(int ranks) {
  transport::WaitPolicy policy = transport::WaitPolicy::for_node(ranks);
  policy.max_sleep = std::chrono::microseconds(50);
  return policy;
}

}  // namespace hvd::collective
