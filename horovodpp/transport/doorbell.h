// SPDX-License-Identifier: Apache-2.0
// A Doorbell wakes the sleeping threads of one rank. It lives in memory that
// ranks share. A rank sleeps on its own bell, and any rank may ring it. Ringing
// costs one load without listeners.
//
// The sleeper:                                  The ringer:
//   const auto ticket = bell.listen(kDriver);     flag.store(1);   // seq_cst
//   if (!flag.load()) bell.sleep(kDriver, ticket, t);
//   bell.leave(kDriver);                          bell.ring();
//
// The flag's store and load are seq_cst: then either the ringer sees the
// sleeper or the sleeper sees the flag. All zero bytes are a valid, silent
// bell. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace hvd::transport {

class alignas(128) Doorbell {
 public:
  // The role in which a thread sleeps.
  enum class Listener : std::uint32_t {
    kRester,  // Handles all events unless a driver does.
    kDriver,  // Handles all events while waiting for one of its own.
    kReader,  // Waits for data in a collective; also hears ring_for_data().
  };

  // Announces that the caller is about to sleep; test the awaited condition
  // after this call. Another thread may call leave() for a sleeper, so that
  // rings skip it, and listen() again later; missed() then tells whether rings
  // were skipped.
  std::uint32_t listen(Listener as);

  // Sleeps until a ring after the listen() that returned `ticket`, or until
  // `timeout` is over; may wake spuriously. A negative timeout waits forever.
  void sleep(Listener as, std::uint32_t ticket,
             std::chrono::nanoseconds timeout);

  // Whether any listener was woken since the listen() that returned `ticket`.
  bool has_rung_since(std::uint32_t ticket) const {
    return rings_.load() != ticket;
  }

  // Undoes listen().
  void leave(Listener as);

  // Wakes all listeners.
  void ring();

  // Wakes the listeners that wait for data.
  void ring_for_data();
  // Whether any thread listens or sleeps as a reader.
  bool has_readers() const;

  // Whether, since the last call, ring() was called without a listening rester.
  bool missed();

 private:
  void wake(std::uint32_t listeners);

  std::atomic<std::uint32_t> rings_{0};
  std::atomic<std::uint32_t> listeners_{0};  // Counts of each kind.
  std::atomic<std::uint32_t> missed_{0};
};

}  // namespace hvd::transport
