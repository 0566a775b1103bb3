// A Doorbell wakes one sleeping rank. It lives in memory that ranks share; a
// rank sleeps on its own bell, anyone may ring it. Ringing costs a load while
// nobody sleeps.
//
// The sleeper:                                The ringer:
//   const auto ticket = bell.listen();          flag.store(1);   // seq_cst
//   if (!flag.load()) bell.sleep(ticket, t);    bell.ring();
//   bell.leave();
//
// Who waits for data in a collective listens for that as well; who rings about
// data reaches nobody else:
//   const auto ticket = bell.listen_for_data(); data.store(1);   // seq_cst
//   ...                                         bell.ring_for_data();
//   bell.leave_data();
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
  // Announces that the caller is about to sleep; then test what you wait for.
  std::uint32_t listen();

  // Sleeps until a ring after the listen() that gave `ticket`, or until
  // `patience` is over; may wake for no reason. A negative patience waits for
  // ever.
  void sleep(std::uint32_t ticket, std::chrono::nanoseconds patience);

  // Ends what listen() began.
  void leave();

  void ring();

  std::uint32_t listen_for_data();
  void leave_data();
  void ring_for_data();

 private:
  void wake();

  std::atomic<std::uint32_t> rings_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<std::uint32_t> data_sleepers_{0};  // Those of them.
};

}  // namespace hvd::transport
