// SPDX-License-Identifier: Apache-2.0
// MpiTransfers implements transfers over MPI: sends and receives directly
// between the callers' memories.
//
// A transfer travels as full chunks and a shorter, possibly empty, last chunk.
// Chunks are short enough for MPI to send at once. A longer message would wait
// for the receiver's answer, which on a busy wire queues behind the receiver's
// own data, and one direction would idle.
//
// A receive is posted with MPI only after its message has arrived and a matched
// probe shows the right size. MPI libraries overrun memory if a message is too
// long, and cannot always cancel a posted receive. A transfer of the wrong size
// is read to its end and discarded.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "horovodpp/transport/call_meter.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/mpi/calls.h"
#include "horovodpp/transport/mpi/tags.h"

namespace hvd::transport {

class MpiTransfers {
 public:
  struct Channel {
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    MpiTags tags;
    std::uint32_t generation = 0;
    // Most bytes of one MPI message. Over TCP, Open MPI sends at once up to 64
    // KiB, headers included.
    std::size_t chunk_bytes = std::size_t{60} << 10;
    // Records the calls within abandon(), which can be slow; may be nullptr.
    CallMeter* calls = nullptr;
  };

  explicit MpiTransfers(const Channel& channel) : channel_(channel) {}

  // As in Communicator; the ranks are known to exist. After an error from
  // test() the id is invalid, too.
  absl::StatusOr<TransferId> post_send(int to, DataTag tag,
                                       std::span<const std::byte> bytes);
  absl::StatusOr<TransferId> post_receive(int from, DataTag tag,
                                          std::span<std::byte> bytes);
  absl::StatusOr<bool> test(TransferId id);
  // Waits some milliseconds for an arriving message; false if its sender stops
  // midway for longer.
  bool abandon(TransferId id);

  // Number of completed receives.
  std::uint64_t received() const { return received_; }

  // Abandons everything, and moves requests that MPI still holds to
  // `leftovers`.
  void give_up(MpiMessages& leftovers);

 private:
  using Route = std::pair<int, int>;  // Peer and MPI tag.

  struct Transfer {
    bool receives = false;
    Route route;
    DataTag tag;
    std::byte* target = nullptr;  // Receives only.
    std::size_t bytes = 0;        // Posted on this side.
    std::size_t sent = 0;         // Sent or received so far.
    bool fits = true;             // The size received matches.
    bool matched = false;         // The last chunk has arrived.
    std::vector<MPI_Request> requests;
  };

  absl::Status match(const Route& route);
  absl::Status match_all();
  absl::Status take_in(Transfer& transfer, MPI_Message message, int count);
  static absl::StatusOr<bool> complete(Transfer& transfer);
  absl::StatusOr<bool> complete_abandoned(Transfer& transfer) const;
  absl::Status size_mismatch(const Transfer& transfer) const;

  const Channel channel_;
  TransferId next_id_ = 1;
  std::uint64_t received_ = 0;
  absl::flat_hash_map<TransferId, Transfer> posted_;
  // Receives whose last chunk has not arrived, in the order posted.
  std::map<Route, std::deque<TransferId>> expected_;
  MpiMessages leftovers_;
};

}  // namespace hvd::transport
