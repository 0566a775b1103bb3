// SPDX-License-Identifier: Apache-2.0
// For any bytes from the network, the parsers of a job return: for a handshake,
// a rank's card, a table of cards and a list of endpoints. The first byte
// chooses one. No bytes without the key make a handshake succeed.
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "horovodpp/transport/system/owned_descriptor.h"
#include "horovodpp/transport/tcp/card.h"
#include "horovodpp/transport/tcp/endpoint.h"
#include "horovodpp/transport/tcp/handshake.h"
#include "horovodpp/transport/tcp/job_key.h"

namespace hvd::transport {
namespace {

void check(bool condition) {
  if (!condition) __builtin_trap();
}

void check_handshake(Handshake::Side side, const std::string& bytes) {
  static const JobKey key = JobKey::random().value();
  std::array<int, 2> ends;
  check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) ==
        0);
  const OwnedDescriptor mine(ends[0]);
  const OwnedDescriptor other(ends[1]);
  check(::send(other.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
        static_cast<ssize_t>(bytes.size()));
  ::shutdown(other.number(), SHUT_WR);
  Handshake handshake(key, side, {.rank = 1, .meeting = 7});
  const auto done = handshake.proceed(mine.number());
  check(!done.ok() || !*done);
}

// A card with more endpoints than a rank writes is cut off.
void check_card(const std::string& bytes) {
  const auto card = card_in(bytes);
  if (!card.ok()) return;
  const std::string written = message_of(*card);
  const auto again = card_in(written);
  check(again.ok() && message_of(*again) == written);
}

void check_table(const std::string& bytes) {
  const auto table = table_in(bytes);
  if (!table.ok()) return;
  const std::string written = message_of(*table);
  const auto again = table_in(written);
  check(again.ok() && message_of(*again) == written);
}

void check_endpoints(const std::string& text) {
  const auto endpoints = parse_endpoints(text);
  if (!endpoints.ok()) return;
  for (const Endpoint& one : *endpoints) {
    const auto again = parse_endpoints(to_string(one));
    check(again.ok() && to_string(again->front()) == to_string(one));
  }
}

void receive(unsigned what, const std::string& bytes) {
  switch (what % 6) {
    case 0:
      return check_handshake(Handshake::Side::kCaller, bytes);
    case 1:
      return check_handshake(Handshake::Side::kListener, bytes);
    case 2:
      return check_card(bytes);
    case 3:
      return check_table(bytes);
    case 4:
      return check_endpoints(bytes);
    default:
      static_cast<void>(port_of(bytes));
      static_cast<void>(JobKey::from_hex(bytes));
  }
}

}  // namespace
}  // namespace hvd::transport

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  hvd::transport::receive(
      data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
