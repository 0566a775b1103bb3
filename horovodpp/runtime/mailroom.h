// The Mailroom sends and receives control mail. Between a node's leader and its
// other ranks it goes through the memory of the node, which rings its reader.
// The rest goes over the wires, where a message wakes nobody and may need its
// sender's help to leave: whoever has sent one keeps looking after the wires for
// a while.
//
// Driven by one thread at a time.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "horovodpp/core/topology.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/node_mail.h"

namespace hvd::runtime {

class Mailroom {
 public:
  Mailroom(transport::Communicator& wires, transport::NodeMail& node_mail,
           const Topology& topology)
      : wires_(wires), node_mail_(node_mail), topology_(topology) {}

  absl::Status send(int to, std::string bytes);

  // The next message, if one has arrived.
  absl::StatusOr<std::optional<transport::Mail>> receive();

  // Moves sends on; whether all have left this rank.
  absl::StatusOr<bool> flush();

  // Whether a rank of this node has yet to make room for what was sent to it.
  bool has_unwritten() const { return node_mail_.has_unwritten(); }

  // Whether something sent may still need this rank's help to arrive.
  bool is_sending() const;

 private:
  bool uses_wires() const { return topology_.node_count() > 1; }

  transport::Communicator& wires_;
  transport::NodeMail& node_mail_;
  const Topology& topology_;
  std::chrono::steady_clock::time_point wires_used_at_{};
};

}  // namespace hvd::runtime
