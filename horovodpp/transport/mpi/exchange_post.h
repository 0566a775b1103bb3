// SPDX-License-Identifier: Apache-2.0
// ExchangePost between the ranks of an MPI communicator, on a tag of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/core/topology.h"
#include "horovodpp/transport/mail_exchange.h"
#include "horovodpp/transport/mpi/calls.h"
#include "horovodpp/transport/mpi/mailbox.h"

namespace hvd::transport {

class MpiExchangePost : public ExchangePost {
 public:
  // `peers` is borrowed.
  MpiExchangePost(const MpiMailbox::Channel& channel,
                  const std::vector<Peer>& peers)
      : rank_(channel.rank), peers_(peers), mailbox_(channel) {}

  int rank() const override { return rank_; }
  const std::vector<Peer>& peers() const override { return peers_; }
  absl::Status send(int to, std::string bytes) override;
  absl::StatusOr<std::optional<Mail>> receive() override;
  absl::StatusOr<bool> flushed() override;

  // Adds the messages that MPI still holds.
  void give_up(MpiMessages& leftovers) { mailbox_.give_up(leftovers); }

 private:
  const int rank_;
  const std::vector<Peer>& peers_;
  MpiMailbox mailbox_;
};

}  // namespace hvd::transport
