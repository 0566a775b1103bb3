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

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"
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

}  // namespace hvd::transport
