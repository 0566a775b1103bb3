// SPDX-License-Identifier: Apache-2.0
// DatagramBeats are UDP heartbeats between ranks of different hosts. A link
// that was down for seconds carries a datagram as soon as it recovers. TCP,
// which carries mail, retransmits only after a pause as long as the outage.
//
//   DatagramBeats beats;                       // Opens a socket.
//   const auto mine = beats.contact();         // Send it to the other ranks.
//   beats.send(all[3], 0);                     // From rank 0 to rank 3.
//   for (int rank : beats.receive()) ...       // Ranks heard from.
//
// Best effort: a firewall may drop all datagrams. A datagram counts only if it
// carries the receiver's token.
//
// For one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "horovodpp/transport/system/host_addresses.h"
#include "horovodpp/transport/system/owned_descriptor.h"

namespace hvd::transport {

class DatagramBeats {
 public:
  // The address of a rank. Plain bytes.
  struct Contact {
    static constexpr int kMaxAddresses = 4;

    std::uint64_t token = 0;
    std::uint16_t port = 0;  // 0: unreachable.
    std::uint16_t addresses = 0;
    std::array<InternetAddress, kMaxAddresses> address = {};
  };

  DatagramBeats();

  const Contact& contact() const { return contact_; }

  // Never blocks, and reports no errors.
  void send(const Contact& to, int from) const;

  // Ranks whose beats have arrived since the last call; never blocks.
  std::vector<int> receive() const;

 private:
  OwnedDescriptor socket_;
  Contact contact_;
};

}  // namespace hvd::transport
