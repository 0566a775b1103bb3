// SPDX-License-Identifier: Apache-2.0
// A Communicator between processes of several hosts, without MPI.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::transport {

struct TcpOptions {
  // "HOST:PORT", where the ranks meet, or as MeetingServer::endpoints().
  std::string server{};
  // Whether rank 0 serves the meeting, at that port of its host. Otherwise a
  // MeetingServer is there already.
  bool rank_0_serves = true;
  std::string key{};  // As JobKey::to_hex().
  // Instead of `server` and `key`: the path of a meeting file (meeting_file.h).
  // Rank 0 serves the meeting and writes the file.
  std::string file{};
  int rank = 0;
  int size = 1;
  // As LoopbackWorld::Options::ranks_per_node.
  int ranks_per_node = 0;
  // As in listen_at().
  std::vector<std::string> interfaces{};
  std::chrono::steady_clock::time_point deadline =
      std::chrono::steady_clock::time_point::max();
  // The number of a growth's meeting (waiting_room.h); nullopt: the ranks meet
  // as at the start of a job.
  std::optional<std::uint32_t> growth{};
  std::function<absl::Status()> interrupt{};  // As TcpMeeting::interrupt.
};

// Meets the other ranks. May be called again after the communicator was
// destroyed; the ranks then meet again.
//   InvalidArgument     there is no such rank, server or key
//   FailedPrecondition  this process was forked from one that is a rank
//   (errors)            of meet_by_tcp(), and of the meeting file
absl::StatusOr<std::unique_ptr<Communicator>> make_tcp_communicator(
    const TcpOptions& options);

}  // namespace hvd::transport
