// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/communicator.h"

#include <unistd.h>

#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/local/held_meetings.h"
#include "horovodpp/transport/local/stream_communicator.h"
#include "horovodpp/transport/system/datagram_beats.h"
#include "horovodpp/transport/system/host.h"
#include "horovodpp/transport/tcp/meeting.h"
#include "horovodpp/transport/tcp/meeting_file.h"
#include "horovodpp/transport/tcp/served_meeting.h"

namespace hvd::transport {
namespace {

// Pause between two questions for the address of a host that is not known yet.
constexpr std::chrono::milliseconds kBetweenLookups(200);

Peer this_process(const TcpOptions& options) {
  const std::string host = host_name();
  Peer self = {.host = host, .pid = ::getpid(), .node = machine_id(host)};
  if (options.ranks_per_node > 0) {
    absl::StrAppend(&self.node, "#", options.rank / options.ranks_per_node);
  }
  return self;
}

// The server's endpoints, once the name of its host is known.
absl::StatusOr<std::vector<Endpoint>> resolved(const TcpOptions& options) {
  while (true) {
    auto endpoints = resolve(options.server);
    if (endpoints.ok() || !absl::IsUnavailable(endpoints.status())) {
      return endpoints;
    }
    if (std::chrono::steady_clock::now() + kBetweenLookups > options.deadline) {
      return absl::DeadlineExceededError(endpoints.status().message());
    }
    std::this_thread::sleep_for(kBetweenLookups);
  }
}

// Rank 0 keeps these until all ranks have met.
struct HeldOpen {
  std::unique_ptr<ServedMeeting> served{};
  std::optional<MeetingFile> file{};
};

// Serves the meeting where this rank is to, and sets where it is.
absl::Status find_place(const TcpOptions& options, TcpMeeting& meeting,
                        HeldOpen& held) {
  MeetingServer::Options served = {.size = options.size,
                                   .interfaces = options.interfaces};
  if (!options.file.empty()) {
    if (options.rank != 0) {
      HVD_ASSIGN_OR_RETURN(const MeetingPlace place,
                           find_meeting(options.file, options.deadline));
      meeting.key = place.key;
      meeting.server = place.server;
      return absl::OkStatus();
    }
    HVD_ASSIGN_OR_RETURN(meeting.key, JobKey::random());
  } else {
    HVD_ASSIGN_OR_RETURN(meeting.key, JobKey::from_hex(options.key));
    if (!options.rank_0_serves || options.rank != 0) {
      HVD_ASSIGN_OR_RETURN(meeting.server, resolved(options));
      return absl::OkStatus();
    }
    HVD_ASSIGN_OR_RETURN(served.port, port_of(options.server));
  }
  served.key = meeting.key;
  HVD_ASSIGN_OR_RETURN(held.served, ServedMeeting::start(served));
  const std::string endpoints = held.served->endpoints();
  if (!options.file.empty()) {
    HVD_ASSIGN_OR_RETURN(
        MeetingFile file,
        MeetingFile::write(options.file, meeting.key, endpoints));
    held.file.emplace(std::move(file));
  }
  HVD_ASSIGN_OR_RETURN(meeting.server, parse_endpoints(endpoints));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> make_tcp_communicator(
    const TcpOptions& options) {
  TcpMeeting meeting = {.rank = options.rank,
                        .size = options.size,
                        .self = this_process(options),
                        .interfaces = options.interfaces,
                        .deadline = options.deadline,
                        .interrupt = options.interrupt};
  HeldOpen held;
  HVD_RETURN_IF_ERROR(find_place(options, meeting, held));
  const std::string& job = options.file.empty() ? options.key : options.file;
  if (options.growth.has_value()) {
    meeting.number = *options.growth;
  } else {
    HVD_ASSIGN_OR_RETURN(const int number, next_meeting(job, options.rank));
    meeting.number = static_cast<std::uint32_t>(number);
  }
  auto beats = std::make_unique<DatagramBeats>();
  meeting.contact = beats->contact();
  HVD_ASSIGN_OR_RETURN(std::vector<ConnectedRank> ranks, meet_by_tcp(meeting));
  if (!options.growth.has_value()) meeting_was_held(job, options.rank);
  return make_stream_communicator(options.rank, std::move(ranks),
                                  std::move(beats));
}

}  // namespace hvd::transport
