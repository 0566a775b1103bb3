// SPDX-License-Identifier: Apache-2.0
// wait_until() waits for another rank. It spins briefly if a core is free,
// yields if ranks outnumber cores, then sleeps on its doorbell. While waiting,
// it keeps asking its Interrupt whether to go on.
//
//   HVD_RETURN_IF_ERROR(wait_until([&] { return flag.load() >= step; },
//                                  interrupt, waiting, own_bell));
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "horovodpp/transport/doorbell.h"

namespace hvd::transport {

// An Interrupt can end a wait early: a raised failure record, a dead peer, a
// deadline.
class Interrupt {
 public:
  virtual ~Interrupt() = default;
  // OK to keep waiting, else the error that ends the wait. Cheap: called in
  // waiting loops.
  virtual absl::Status check() = 0;
  // When check() may change its answer without a ring, if it may.
  virtual std::optional<std::chrono::steady_clock::time_point> verdict_due()
      const {
    return std::nullopt;
  }
};

struct WaitPolicy {
  // Busy waiting before the first sleep. Zero if ranks outnumber cores.
  std::chrono::nanoseconds spin = std::chrono::microseconds(50);
  // Number of yields between spinning and sleeping.
  int yields = 0;
  // Longest sleep before checking the condition and the interrupt again, for
  // events without a ring (messages between nodes). Negative: forever.
  std::chrono::nanoseconds max_sleep = std::chrono::nanoseconds(-1);

  // The policy for `ranks_on_node` ranks on this machine's cores.
  static WaitPolicy for_node(int ranks_on_node);
  // The same for waits on other nodes, which do not ring. They yield for the
  // length of a short call before they sleep, because a sleep takes longer.
  static WaitPolicy for_network(int ranks_on_node);
};

// For spinning loops, between two checks.
inline void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

// Returns OK once `ready()` is true, or the interrupt's error. `ready` is
// called often, and only by this thread. The data it reads is stored seq_cst
// before the writer rings `bell`, for data or for all.
absl::Status wait_until(const std::function<bool()>& ready,
                        Interrupt& interrupt, const WaitPolicy& policy,
                        Doorbell& bell);

}  // namespace hvd::transport
