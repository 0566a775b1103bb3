// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/doorbell.h"

#include <optional>

#include "horovodpp/core/thread/futex.h"

namespace hvd::transport {
namespace {

// Each kind of listener has a field of the count and a bit of the futex mask.
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

}  // namespace

// All seq_cst. On opposite sides of the caller's flag, listen() announces the
// sleeper and ring() looks for a sleeper. So one of the two sees the other.
std::uint32_t Doorbell::listen(Listener as) {
  listeners_.fetch_add(one_of(as));
  return rings_.load();
}

void Doorbell::sleep(Listener as, std::uint32_t ticket,
                     std::chrono::nanoseconds timeout) {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  if (timeout.count() >= 0) {
    deadline = std::chrono::steady_clock::now() + timeout;
  }
  futex_wait({.word = rings_, .mask = bit_of(as)}, ticket, deadline);
}

void Doorbell::leave(Listener as) { listeners_.fetch_sub(one_of(as)); }

// Record a missed ring before the second look: either the look sees the new
// listener, or the listener sees the record.
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

bool Doorbell::has_readers() const {
  return (listeners_.load() & field_of(Listener::kReader)) != 0;
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
  futex_wake({.word = rings_, .mask = mask});
}

}  // namespace hvd::transport
