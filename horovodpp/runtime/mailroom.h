// The Mailroom sends and receives control mail, and rings who sleeps: a message
// by itself wakes nobody. Mail that arrives while a plane waits is kept until
// asked for, but a Break among it is noticed at once.
//
// Driven by one thread at a time.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/core/topology.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/node_segment.h"

namespace hvd::runtime {

class Mailroom {
 public:
  Mailroom(transport::Communicator& communicator, const Topology& topology,
           const transport::NodeSegment& segment)
      : communicator_(communicator), topology_(topology), segment_(segment) {}

  absl::Status send(int to, std::string bytes);

  // The next message, oldest first.
  absl::StatusOr<std::optional<transport::Mail>> next();

  // Takes in what has arrived, without handing it out. Aborted, with its text,
  // if there is a Break among it.
  absl::Status collect();

  // Moves sends on; whether all have left.
  absl::StatusOr<bool> flush();
  bool has_unflushed() const { return !unflushed_.empty(); }

 private:
  void ring(int rank);

  transport::Communicator& communicator_;
  const Topology& topology_;
  const transport::NodeSegment& segment_;
  std::deque<transport::Mail> kept_;
  // Whom to ring again once everything has left: mail that was still on its way
  // when they were rung would otherwise find them asleep.
  std::vector<int> unflushed_;
};

}  // namespace hvd::runtime
