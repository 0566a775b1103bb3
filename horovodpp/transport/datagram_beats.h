// SPDX-License-Identifier: Apache-2.0
// DatagramBeats are signs of life between ranks of different hosts, by UDP. A link that was
// away for some seconds carries a datagram as soon as it is back. TCP, which carries mail,
// sends what was lost again only after as long a pause as the link was away.
//
//   DatagramBeats beats;                       // Opens a socket.
//   const auto mine = beats.contact();         // The other ranks are told.
//   beats.send(all[3], 0);                     // From rank 0 to rank 3.
//   for (int rank : beats.receive()) ...       // Whose have come.
//
// Best effort: where a firewall lets no datagrams through, none comes. A datagram counts
// if it shows the token that its receiver told the others.
//
// For one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "horovodpp/transport/owned_descriptor.h"

namespace hvd::transport {

class DatagramBeats {
 public:
  // Where a rank is reached. Plain bytes.
  struct Contact {
    static constexpr int kMostAddresses = 4;

    std::uint64_t token = 0;
    std::uint16_t port = 0;  // 0: not at all.
    std::uint16_t addresses = 0;
    // IPv6; those of IPv4 are mapped.
    std::array<std::array<std::uint8_t, 16>, kMostAddresses> address = {};
  };

  DatagramBeats();

  const Contact& contact() const { return contact_; }

  // Never blocks, and tells of no failure.
  void send(const Contact& to, int from) const;

  // The ranks from which beats have come since the last call; never blocks.
  std::vector<int> receive() const;

 private:
  OwnedDescriptor socket_;
  Contact contact_;
};

}  // namespace hvd::transport
