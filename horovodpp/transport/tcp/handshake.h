// SPDX-License-Identifier: Apache-2.0
// The first bytes of a TCP connection between processes of a job. Each end
// sends a greeting with a random number, and then a proof that it knows the
// job's key, over both greetings. So neither the key nor anything that can be
// sent again later crosses the network. The bytes after the handshake are
// neither encrypted nor signed.
//
//   Handshake handshake(key, Handshake::Side::kCaller, {.rank = 3});
//   while (true) {
//     const auto done = handshake.proceed(socket);    // Never blocks.
//     if (!done.ok()) return done.status();
//     if (*done) break;
//     ...                                             // poll()
//   }
//
// For one thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "horovodpp/transport/tcp/job_key.h"

namespace hvd::transport {

// The end of a connection.
struct Caller {
  static constexpr int kServer = -1;

  int rank = kServer;         // Or kServer.
  std::uint32_t meeting = 0;  // Which meeting of the job it takes part in.
};

class Handshake {
 public:
  enum class Side : std::uint8_t { kCaller, kListener };

  // `key` is borrowed.
  Handshake(const JobKey& key, Side side, const Caller& mine);

  // Sends and receives what it can on the non-blocking `socket`; never reads
  // beyond the handshake. True once both ends are known to each other.
  //   Unavailable         the other end is gone
  //   FailedPrecondition  it is not horovodpp, or of another version
  //   PermissionDenied    it has another key
  absl::StatusOr<bool> proceed(int socket);

  // The other end, once proceed() has returned true.
  const Caller& other() const { return other_; }

 private:
  absl::Status send(int socket);
  absl::StatusOr<bool> receive(int socket, std::size_t bytes);
  absl::Status hear_greeting();
  std::string proven(Side by) const;

  const JobKey& key_;
  const Side side_;
  std::string unsent_;
  std::string received_;
  std::string mine_;    // The greetings, as sent.
  std::string theirs_;  // Empty until received.
  Caller other_;
};

}  // namespace hvd::transport
