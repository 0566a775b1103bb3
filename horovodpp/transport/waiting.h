// SPDX-License-Identifier: Apache-2.0
// How a rank waits for another: it spins a little where a core is free for
// that, yields where ranks outnumber cores, then sleeps on its doorbell. While
// it waits it keeps asking its Interrupt whether waiting still makes sense.
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

// What can end a wait early: a raised break word, a dead peer, a deadline.
class Interrupt {
 public:
  virtual ~Interrupt() = default;
  // OK while waiting makes sense, else why not. Cheap: called in waiting loops.
  virtual absl::Status check() = 0;
  // When check() may change its answer though nobody rings, if that is so.
  virtual std::optional<std::chrono::steady_clock::time_point> verdict_due()
      const {
    return std::nullopt;
  }
};

struct WaitPolicy {
  // Busy waiting before the first sleep. Zero where ranks outnumber cores.
  std::chrono::nanoseconds spin = std::chrono::microseconds(50);
  // Between spinning and sleeping: gives the core away this often.
  int yields = 0;
  // The longest sleep before the condition and the interrupt are looked at again,
  // for waits on events that ring no bell (messages between nodes). Negative:
  // for ever.
  std::chrono::nanoseconds max_sleep = std::chrono::nanoseconds(-1);

  // The policy for `ranks_on_node` ranks on this machine's cores.
  static WaitPolicy for_node(int ranks_on_node);
  // The same for waits on other nodes, where nobody rings: they yield as long as
  // a short call takes before a sleep, which takes longer.
  static WaitPolicy for_wires(int ranks_on_node);
};

// Between two looks of a loop that spins.
inline void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

// Returns OK once `ready()` is true, or the interrupt's error. `ready` is called
// often and by this thread only; what it reads is stored seq_cst by whoever
// then rings `bell`, for data or for all.
absl::Status wait_until(const std::function<bool()>& ready,
                        Interrupt& interrupt, const WaitPolicy& policy,
                        Doorbell& bell);

}  // namespace hvd::transport
