// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/local/communicator.h"

#include <sys/types.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/local/held_meetings.h"
#include "horovodpp/transport/local/socket.h"
#include "horovodpp/transport/local/stream_communicator.h"
#include "horovodpp/transport/system/host.h"

namespace hvd::transport {
namespace {

std::vector<ConnectedRank> ranks_of(const LocalOptions& options,
                                    std::vector<LocalPeer> met) {
  const std::string host = host_name();
  const std::string machine = machine_id(host);
  std::vector<ConnectedRank> ranks;
  for (int rank = 0; rank < options.size; ++rank) {
    LocalPeer& other = met[static_cast<std::size_t>(rank)];
    Peer peer = {.host = host,
                 .pid = rank == options.rank ? ::getpid() : other.pid,
                 .node = machine};
    if (options.ranks_per_node > 0) {
      absl::StrAppend(&peer.node, "#", rank / options.ranks_per_node);
    }
    ranks.push_back(
        {.peer = std::move(peer), .socket = std::move(other.socket)});
  }
  return ranks;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> make_local_communicator(
    const LocalOptions& options) {
  HVD_ASSIGN_OR_RETURN(const int number,
                       next_meeting(options.rendezvous, options.rank));
  HVD_ASSIGN_OR_RETURN(
      std::vector<LocalPeer> met,
      meet_locally({.name = absl::StrCat(options.rendezvous, ".", number),
                    .rank = options.rank,
                    .size = options.size,
                    .deadline = options.deadline}));
  meeting_was_held(options.rendezvous, options.rank);
  return make_stream_communicator(options.rank,
                                  ranks_of(options, std::move(met)));
}

}  // namespace hvd::transport
