// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/communicator.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/local/held_meetings.h"
#include "horovodpp/transport/local/stream_communicator.h"
#include "horovodpp/transport/system/datagram_beats.h"
#include "horovodpp/transport/system/host.h"
#include "horovodpp/transport/tcp/meeting.h"

namespace hvd::transport {
namespace {

Peer this_process(const TcpOptions& options) {
  const std::string host = host_name();
  Peer self = {.host = host, .pid = ::getpid(), .node = machine_id(host)};
  if (options.ranks_per_node > 0) {
    absl::StrAppend(&self.node, "#", options.rank / options.ranks_per_node);
  }
  return self;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> make_tcp_communicator(
    const TcpOptions& options) {
  TcpMeeting meeting = {.rank = options.rank,
                        .size = options.size,
                        .self = this_process(options),
                        .interfaces = options.interfaces,
                        .deadline = options.deadline};
  HVD_ASSIGN_OR_RETURN(meeting.key, JobKey::from_hex(options.key));
  HVD_ASSIGN_OR_RETURN(meeting.server, parse_endpoints(options.server));
  HVD_ASSIGN_OR_RETURN(const int number,
                       next_meeting(options.server, options.rank));
  meeting.number = static_cast<std::uint32_t>(number);
  auto beats = std::make_unique<DatagramBeats>();
  meeting.contact = beats->contact();
  HVD_ASSIGN_OR_RETURN(std::vector<ConnectedRank> ranks, meet_by_tcp(meeting));
  meeting_was_held(options.server, options.rank);
  return make_stream_communicator(options.rank, std::move(ranks),
                                  std::move(beats));
}

}  // namespace hvd::transport
