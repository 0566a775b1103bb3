// SPDX-License-Identifier: Apache-2.0
// Meeting of the ranks of several hosts by TCP: each rank learns from the
// meeting server (meeting_server.h) where the others listen, and connects to
// all lower ranks. Ends prove that they belong to the job (handshake.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/transport/local/stream_communicator.h"
#include "horovodpp/transport/tcp/endpoint.h"
#include "horovodpp/transport/tcp/job_key.h"

namespace hvd::transport {

struct TcpMeeting {
  JobKey key{};
  // Where the server may be reached; the first that answers is taken.
  std::vector<Endpoint> server{};
  // Which meeting of the job this is.
  std::uint32_t number = 0;
  int rank = 0;
  int size = 1;
  Peer self{};  // This rank's.
  DatagramBeats::Contact contact{};
  // As in listen_at(), for the connections between ranks.
  std::vector<std::string> interfaces{};
  std::chrono::steady_clock::time_point deadline{};
  // Asked every 10 ms, if set; an error ends the meeting.
  std::function<absl::Status()> interrupt{};
};

// Meets all ranks; blocks.
//   DeadlineExceeded    the server, or ranks, could not be reached before the
//                       deadline; names them, and why
//   FailedPrecondition  the server refuses this rank, or runs another version
//   PermissionDenied    the server has another key
//   (errors)            of listen_at(), and of `interrupt`
absl::StatusOr<std::vector<ConnectedRank>> meet_by_tcp(
    const TcpMeeting& meeting);

}  // namespace hvd::transport
