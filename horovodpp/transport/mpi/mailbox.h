// SPDX-License-Identifier: Apache-2.0
// MpiMailbox is mail over MPI: non-blocking sends and matched probes on one
// tag. Large messages travel in fragments. Messages of another generation are
// dropped.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/mail_exchange.h"
#include "horovodpp/transport/mpi/calls.h"

namespace hvd::transport {

class MpiMailbox {
 public:
  struct Channel {
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    int tag = 0;
    std::uint32_t generation = 0;
    // Most bytes of one MPI message, whose counts are of type int.
    std::size_t fragment_bytes = std::size_t{1} << 30;
  };

  explicit MpiMailbox(const Channel& channel) : channel_(channel) {}

  // `to` is a rank of the communicator.
  absl::Status send(int to, std::string bytes);
  absl::StatusOr<std::optional<Mail>> receive();
  absl::StatusOr<bool> flushed();

  // Moves unfinished messages to `leftovers`.
  void give_up(MpiMessages& leftovers);

 private:
  absl::Status send_fragment(int to, std::string bytes, bool last);
  absl::Status move_sends_on();
  absl::Status take_in_arrivals();
  std::optional<Mail> open(MpiMessage message);

  const Channel channel_;
  std::deque<Mail> own_;  // From this rank to itself.
  MpiMessages outgoing_;
  MpiMessages incoming_;  // Matched, in the order of matching.
  absl::flat_hash_map<int, std::string> partial_;  // Fragments so far, by peer.
};

// ExchangePost between the ranks of an MPI communicator, on a tag of its own.
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
