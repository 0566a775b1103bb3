// SPDX-License-Identifier: Apache-2.0
// A RoomGuest is a rank's or newcomer's connection to the meeting server, for
// its part in the growth of a job (waiting_room.h).
//
// For one thread at a time. Closing the connection withdraws this end from a
// growth that is not decided.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/transport/local/frame_stream.h"
#include "horovodpp/transport/tcp/card.h"
#include "horovodpp/transport/tcp/endpoint.h"
#include "horovodpp/transport/tcp/job_key.h"

namespace hvd::transport {

class RoomGuest : private FrameReader {
 public:
  struct Server {
    std::vector<Endpoint> endpoints{};
    JobKey key{};
  };
  using TimePoint = std::chrono::steady_clock::time_point;

  // Connects; blocks. `rank` is for the server's messages.
  //   DeadlineExceeded  no server answers at these endpoints
  //   (errors)          of Handshake::proceed
  static absl::StatusOr<std::unique_ptr<RoomGuest>> connect(
      const Server& server, int rank, TimePoint deadline);

  void send(const std::string& message);
  // The next message, if one has arrived; costs a system call.
  //   Unavailable         the server has ended
  //   FailedPrecondition  the server refuses a message; says why
  absl::StatusOr<std::optional<std::string>> receive();
  // Waits for a message; asks `interrupt` every 10 ms and returns its error.
  absl::StatusOr<std::string> wait(
      const std::function<absl::Status()>& interrupt);

 private:
  explicit RoomGuest(OwnedDescriptor socket);

  // FrameReader.
  std::byte* memory_for(int from, const FrameHeader& header) override;
  void arrived(int from, const FrameHeader& header, std::string bytes) override;

  FrameStream stream_;
  std::deque<std::string> messages_;
};

// The content of kAdmitted. `size` 0: no newcomer waits.
struct Admission {
  std::uint32_t number = 0;  // Of the growth's meeting.
  int rank = 0;              // Of this process in the grown job.
  int size = 0;              // Of the grown job.
};
absl::StatusOr<Admission> admission_in(const std::string& message);

}  // namespace hvd::transport
