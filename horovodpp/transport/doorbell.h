// SPDX-License-Identifier: Apache-2.0
// A Doorbell wakes the sleeping threads of one rank. It lives in memory that
// ranks share; a rank sleeps on its own bell, anyone may ring it. Ringing costs
// a load while nobody listens.
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
  // What a thread sleeps as.
  enum class Listener : std::uint32_t {
    kRester,  // Looks after everything, unless a driver does.
    kDriver,  // Looks after everything while it waits for something of its own.
    kReader,  // Waits for data in a collective, and hears ring_for_data() too.
  };

  // Announces that the caller is about to sleep; then test what you wait for.
  // Another thread may leave() for a sleeper, so that rings pass it over, and
  // listen() for it again; missed() tells then whether there were any.
  std::uint32_t listen(Listener as);

  // Sleeps until a ring after the listen() that gave `ticket`, or until
  // `patience` is over; may wake for no reason. A negative patience waits for
  // ever.
  void sleep(Listener as, std::uint32_t ticket,
             std::chrono::nanoseconds patience);

  // Whether anybody who listens was woken since the listen() that gave `ticket`.
  bool has_rung_since(std::uint32_t ticket) const {
    return rings_.load() != ticket;
  }

  // Ends what listen() began.
  void leave(Listener as);

  // Wakes all who listen.
  void ring();

  // Wakes those who wait for data.
  void ring_for_data();
  // Whether any listen for data, or sleep.
  bool has_readers() const;

  // Whether ring() was called when no rester listened, since the last time that
  // this was asked.
  bool missed();

 private:
  void wake(std::uint32_t listeners);

  std::atomic<std::uint32_t> rings_{0};
  std::atomic<std::uint32_t> listeners_{0};  // How many, of each kind.
  std::atomic<std::uint32_t> missed_{0};
};

}  // namespace hvd::transport
