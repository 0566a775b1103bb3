// SPDX-License-Identifier: Apache-2.0
// Wrappers of the futex system call: threads sleep on a word of memory, of one
// process or shared by several, and are woken.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>
#include <optional>

namespace hvd {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "the kernel reads the word itself");

// The word to sleep on, and a mask that selects sleepers.
struct Futex {
  const std::atomic<std::uint32_t>& word;
  bool is_shared = true;  // Between processes.
  std::uint32_t mask = FUTEX_BITSET_MATCH_ANY;

  int operation(int base) const {
    return is_shared ? base : base | FUTEX_PRIVATE_FLAG;
  }
};

// Sleeps while the word is `value`, until `deadline`; may wake spuriously.
inline void futex_wait(
    const Futex& futex, std::uint32_t value,
    std::optional<std::chrono::steady_clock::time_point> deadline) {
  timespec until = {};
  if (deadline) {
    const auto since = deadline->time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    until = {.tv_sec = static_cast<std::time_t>(seconds.count()),
             .tv_nsec = static_cast<long>((since - seconds).count())};
  }
  ::syscall(SYS_futex, &futex.word, futex.operation(FUTEX_WAIT_BITSET), value,
            deadline ? &until : nullptr, nullptr, futex.mask);
}

// Wakes all sleepers whose masks share a bit with this one. Does not read the
// memory at the address.
inline void futex_wake(const Futex& futex) {
  ::syscall(SYS_futex, &futex.word, futex.operation(FUTEX_WAKE_BITSET), INT_MAX,
            nullptr, nullptr, futex.mask);
}

}  // namespace hvd
