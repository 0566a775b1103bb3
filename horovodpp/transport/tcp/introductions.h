// SPDX-License-Identifier: Apache-2.0
// Introductions conducts the handshakes of many connections at once.
//
// For one thread at a time; no call blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/transport/system/owned_descriptor.h"
#include "horovodpp/transport/tcp/handshake.h"

namespace hvd::transport {

class Introductions {
 public:
  // `key` is borrowed. More than `most` connections are not kept: the oldest
  // goes.
  explicit Introductions(const JobKey& key, std::size_t most = 1024);

  // Begins the handshake of a socket; `tag` identifies it to the caller.
  absl::Status add(OwnedDescriptor socket, Handshake::Side side,
                   const Caller& mine, int tag);
  // Readable when proceed() has something to do.
  int descriptor() const { return events_.number(); }

  struct Outcome {
    int tag = 0;
    Caller other{};            // If `status` is OK, and
    OwnedDescriptor socket{};  // the connection.
    absl::Status status{};     // As from Handshake::proceed().
  };
  // The handshakes that have ended since the last call.
  std::vector<Outcome> proceed();
  // Gives up all with this tag.
  void drop(int tag);

 private:
  struct Connection {
    int tag = 0;
    OwnedDescriptor socket;
    Handshake handshake;
  };

  const JobKey& key_;
  const std::size_t most_;
  OwnedDescriptor events_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Connection> connections_;  // In order of age.
};

}  // namespace hvd::transport
