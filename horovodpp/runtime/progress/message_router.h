// SPDX-License-Identifier: Apache-2.0
// The MessageRouter sends and receives control mail. Between a node's leader
// and its other ranks, mail goes through the node's shared memory, and rings
// its reader. All other mail goes over the network, where it wakes no rank, and
// leaves only while its sender polls. So a rank that has sent mail or a
// collective's data keeps polling for a while.
//
// Driven by one thread at a time.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/node/mail.h"

namespace hvd::runtime {

class MessageRouter {
 public:
  MessageRouter(transport::Communicator& wires, transport::NodeMail& node_mail,
                const Topology& topology)
      : wires_(wires), node_mail_(node_mail), topology_(topology) {}

  absl::Status send(int to, std::string bytes) {
    const absl::Status status = post(to, std::move(bytes));
    ring();
    return status;
  }
  // Sends without ringing; a sleeping rank of this node notices with the next
  // ring().
  absl::Status post(int to, std::string bytes);
  void ring() { node_mail_.ring(); }

  // The next message, if one has arrived.
  absl::StatusOr<std::optional<transport::Mail>> receive() {
    if (auto letter = node_mail_.receive()) return from_node(*letter);
    if (!uses_network()) return std::nullopt;
    return receive_from_network();
  }

  // See Communicator.
  void send_beat(int to) { wires_.send_beat(to); }
  std::vector<int> receive_beats() { return wires_.receive_beats(); }

  // Makes progress on sends; returns whether all have left this rank.
  absl::StatusOr<bool> flush();

  // Whether a rank of this node must still make room for mail to it.
  bool has_unwritten() const { return node_mail_.has_unwritten(); }
  // Whether flush() may have work to do.
  bool may_have_unsent() const { return has_unflushed_ || has_unwritten(); }

  // Whether mail may still need this rank's help to arrive.
  bool is_sending() const { return mail_.may_need_progress(); }

  // Records that a collective has used the wires, and may have left data on
  // them.
  void data_was_sent() {
    if (uses_network()) data_.was_used();
  }
  // When to look next at sends that may need this rank's help; nullopt: none
  // do.
  std::optional<std::chrono::steady_clock::duration> progress_due_after() const;
  // Whether anything was ever sent over the wires. With a slow receiver the
  // last part may need this rank's help long after.
  bool has_used_network() const { return mail_.was_ever() || data_.was_ever(); }

 private:
  // One kind of traffic of this rank on the wires.
  class Traffic {
   public:
    void was_used();
    // Records that this rank has looked after the wires.
    void looked() { ++looks_; }
    bool may_need_progress() const { return used_ && is_recent(); }
    std::optional<std::chrono::steady_clock::duration> progress_due_after()
        const;
    bool was_ever() const { return used_; }

   private:
    bool is_recent() const;
    std::chrono::steady_clock::duration age() const {
      return std::chrono::steady_clock::now() - used_at_;
    }

    std::chrono::steady_clock::time_point used_at_{};
    int looks_ = 0;  // Since the last use.
    bool used_ = false;
  };

  transport::Mail from_node(transport::NodeLetter& letter) const;
  absl::StatusOr<std::optional<transport::Mail>> receive_from_network();
  bool uses_network() const { return topology_.node_count() > 1; }

  transport::Communicator& wires_;
  transport::NodeMail& node_mail_;
  const Topology& topology_;
  Traffic mail_;
  Traffic data_;
  bool has_unflushed_ = false;  // Mail on the wires.
};

}  // namespace hvd::runtime
