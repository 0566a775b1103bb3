// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace hvd::transport {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "the kernel reads the word itself");

// Each kind of listener has a field of the count, and a bit of the futex's mask.
constexpr std::uint32_t kFieldBits = 10;
constexpr std::uint32_t kKinds = 3;

constexpr std::uint32_t bit_of(Doorbell::Listener as) {
  return 1u << static_cast<std::uint32_t>(as);
}

constexpr std::uint32_t one_of(Doorbell::Listener as) {
  return 1u << (kFieldBits * static_cast<std::uint32_t>(as));
}

constexpr std::uint32_t field_of(Doorbell::Listener as) {
  return ((1u << kFieldBits) - 1) * one_of(as);
}

// Not FUTEX_PRIVATE: the word lies in memory that processes share. The time is
// absolute.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* until, std::uint32_t mask) {
  ::syscall(SYS_futex, &word, operation, value, until, nullptr, mask);
}

timespec after(std::chrono::nanoseconds patience) {
  const auto until =
      std::chrono::steady_clock::now().time_since_epoch() + patience;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(until);
  return {.tv_sec = static_cast<std::time_t>(seconds.count()),
          .tv_nsec = static_cast<long>((until - seconds).count())};
}

}  // namespace

// seq_cst throughout: listen() announces the sleeper and ring() looks for one
// on opposite sides of the caller's flag, so one of the two sees the other.
std::uint32_t Doorbell::listen(Listener as) {
  listeners_.fetch_add(one_of(as));
  return rings_.load();
}

void Doorbell::sleep(Listener as, std::uint32_t ticket,
                     std::chrono::nanoseconds patience) {
  if (patience.count() < 0) {
    futex(rings_, FUTEX_WAIT_BITSET, ticket, nullptr, bit_of(as));
    return;
  }
  const timespec until = after(patience);
  futex(rings_, FUTEX_WAIT_BITSET, ticket, &until, bit_of(as));
}

void Doorbell::leave(Listener as) { listeners_.fetch_sub(one_of(as)); }

// What is missed is noted before a second look: either that one sees who
// listens again, or they see the note.
void Doorbell::ring() {
  constexpr std::uint32_t kResters = field_of(Listener::kRester);
  if ((listeners_.load() & kResters) == 0) missed_.store(1);
  const std::uint32_t listeners = listeners_.load();
  if (listeners != 0) wake(listeners);
}

void Doorbell::ring_for_data() {
  const std::uint32_t readers = listeners_.load() & field_of(Listener::kReader);
  if (readers != 0) wake(readers);
}

bool Doorbell::missed() {
  return missed_.load() != 0 && missed_.exchange(0) != 0;
}

void Doorbell::wake(std::uint32_t listeners) {
  std::uint32_t mask = 0;
  for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
    const auto as = static_cast<Listener>(kind);
    if ((listeners & field_of(as)) != 0) mask |= bit_of(as);
  }
  rings_.fetch_add(1);
  futex(rings_, FUTEX_WAKE_BITSET, INT_MAX, nullptr, mask);
}

}  // namespace hvd::transport
