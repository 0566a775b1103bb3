// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/waiting.h"

#include <algorithm>

#include "horovodpp/core/status.h"
#include "horovodpp/core/threads.h"

namespace hvd::transport {
namespace {

// How many looks at the condition there are between two at clock and interrupt.
constexpr int kLooksPerCheck = 32;

// True if `ready` came true; false when the time for spinning is over.
absl::StatusOr<bool> spin(const std::function<bool()>& ready,
                          Interrupt& interrupt,
                          std::chrono::nanoseconds patience) {
  if (patience.count() <= 0) return false;
  const auto end = std::chrono::steady_clock::now() + patience;
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

// How long to sleep at most: as the policy says, but not past what the interrupt has
// to say.
std::chrono::nanoseconds patience(const WaitPolicy& policy,
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

WaitPolicy WaitPolicy::for_wires(int ranks_on_node) {
  // A millisecond or two, which threads that compute may have instead.
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
    // The interrupt too is asked after listen(): whoever raises what it looks at
    // rings afterwards.
    const bool done = ready();
    const absl::Status status = done ? absl::OkStatus() : interrupt.check();
    if (!done && status.ok()) {
      bell.sleep(Doorbell::Listener::kReader, ticket,
                 patience(policy, interrupt));
    }
    bell.leave(Doorbell::Listener::kReader);
    if (done || !status.ok()) return status;
  }
}

}  // namespace hvd::transport
