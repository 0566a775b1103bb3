// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/waiting.h"

#include <algorithm>

#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/threads.h"

namespace hvd::transport {
namespace {

// Condition checks between two checks of clock and interrupt.
constexpr int kLooksPerCheck = 32;

// True if `ready` became true; false when the spinning time is over.
absl::StatusOr<bool> spin(const std::function<bool()>& ready,
                          Interrupt& interrupt,
                          std::chrono::nanoseconds timeout) {
  if (timeout.count() <= 0) return false;
  const auto end = std::chrono::steady_clock::now() + timeout;
  do {
    for (int look = 0; look < kLooksPerCheck; ++look) {
      if (ready()) return true;
      pause_core();
    }
    HVD_RETURN_IF_ERROR(interrupt.check());
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

absl::StatusOr<bool> yield(const std::function<bool()>& ready,
                           Interrupt& interrupt, int times) {
  for (int i = 0; i < times; ++i) {
    if (ready()) return true;
    HVD_RETURN_IF_ERROR(interrupt.check());
    ::sched_yield();
  }
  return false;
}

// The longest sleep: the policy's limit, but not beyond the interrupt's next
// verdict.
std::chrono::nanoseconds longest_sleep(const WaitPolicy& policy,
                                       const Interrupt& interrupt) {
  const auto due = interrupt.verdict_due();
  if (!due) return policy.max_sleep;
  const std::chrono::nanoseconds left =
      std::max(std::chrono::steady_clock::duration(0),
               *due - std::chrono::steady_clock::now());
  return policy.max_sleep.count() < 0 ? left : std::min(left, policy.max_sleep);
}

}  // namespace

WaitPolicy WaitPolicy::for_node(int ranks_on_node) {
  WaitPolicy policy;
  if (ranks_on_node > cores_for_ranks()) {
    policy.spin = std::chrono::nanoseconds(0);
    policy.yields = 16;
  }
  return policy;
}

WaitPolicy WaitPolicy::for_network(int ranks_on_node) {
  // Yields for a millisecond or two, so that computing threads get the core.
  constexpr int kYields = 500;
  WaitPolicy policy = for_node(ranks_on_node);
  policy.yields = kYields;
  return policy;
}

absl::Status wait_until(const std::function<bool()>& ready,
                        Interrupt& interrupt, const WaitPolicy& policy,
                        Doorbell& bell) {
  if (ready()) return absl::OkStatus();
  HVD_ASSIGN_OR_RETURN(const bool spun, spin(ready, interrupt, policy.spin));
  if (spun) return absl::OkStatus();
  HVD_ASSIGN_OR_RETURN(const bool yielded,
                       yield(ready, interrupt, policy.yields));
  if (yielded) return absl::OkStatus();
  while (true) {
    const std::uint32_t ticket = bell.listen(Doorbell::Listener::kReader);
    // Check the interrupt after listen(), too: a thread that raises its cause
    // rings afterwards.
    const bool done = ready();
    const absl::Status status = done ? absl::OkStatus() : interrupt.check();
    if (!done && status.ok()) {
      bell.sleep(Doorbell::Listener::kReader, ticket,
                 longest_sleep(policy, interrupt));
    }
    bell.leave(Doorbell::Listener::kReader);
    if (done || !status.ok()) return status;
  }
}

}  // namespace hvd::transport
