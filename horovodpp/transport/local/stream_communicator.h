// SPDX-License-Identifier: Apache-2.0
// A Communicator whose wires are connected sockets, one to each other rank:
// Unix sockets on one host, TCP between hosts.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/system/datagram_beats.h"
#include "horovodpp/transport/system/owned_descriptor.h"

namespace hvd::transport {

// A rank, as a meeting has found it.
struct ConnectedRank {
  Peer peer{};
  // Non-blocking; none to this rank itself.
  OwnedDescriptor socket{};
  // Whether its process is one of this machine, so that a pidfd shows its end.
  // The end of any other shows as the end of its connection.
  bool is_near = true;
  // Where its heartbeats arrive; ranks of other hosts only.
  DatagramBeats::Contact contact{};
};

// `ranks` has an entry for each rank of the job, this one included. `beats` is
// null if all ranks are near.
//   Internal  the system has no descriptor left
absl::StatusOr<std::unique_ptr<Communicator>> make_stream_communicator(
    int rank, std::vector<ConnectedRank> ranks,
    std::unique_ptr<DatagramBeats> beats = nullptr);

}  // namespace hvd::transport
