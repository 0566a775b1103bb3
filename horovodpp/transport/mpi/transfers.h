// SPDX-License-Identifier: Apache-2.0
// Transfers over MPI: sends and receives straight between the callers'
// memories.
//
// A transfer travels as full chunks and one shorter, possibly empty, last
// chunk. A chunk is so short that MPI sends it at once: a longer message waits for
// its receiver's answer, which on a busy wire queues behind that receiver's own
// data, and one direction idles. A receive is not posted with MPI before its message has come and is
// seen to have the right size (a matched probe): MPI libraries overrun memory
// when a message is too long, and do not always give a posted receive back. A
// transfer of the wrong size is read to its end and thrown away.
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
    // The most bytes of one MPI message. Open MPI sends 64 KiB at once over TCP,
    // headers included.
    std::size_t chunk_bytes = std::size_t{60} << 10;
    // Told of what abandon() calls, which takes its time; may be nullptr.
    CallMeter* calls = nullptr;
  };

  explicit MpiTransfers(const Channel& channel) : channel_(channel) {}

  // As Communicator has them; ranks are known to exist. After an error from
  // test() the id is forgotten too.
  absl::StatusOr<TransferId> post_send(int to, DataTag tag,
                                       std::span<const std::byte> bytes);
  absl::StatusOr<TransferId> post_receive(int from, DataTag tag,
                                          std::span<std::byte> bytes);
  absl::StatusOr<bool> test(TransferId id);
  // Waits some milliseconds for a message that is arriving; false if its sender
  // stops in the middle of it for longer.
  bool abandon(TransferId id);

  // How many receives have been completed.
  std::uint64_t received() const { return received_; }

  // Abandons everything, and moves the requests that MPI does not give back to
  // `leftovers`.
  void give_up(MpiMessages& leftovers);

 private:
  using Route = std::pair<int, int>;  // Peer and MPI tag.

  struct Transfer {
    bool receives = false;
    Route route;
    DataTag tag;
    std::byte* target = nullptr;  // Of a receive.
    std::size_t bytes = 0;        // What this side posted,
    std::size_t sent = 0;         // and what has come so far.
    bool fits = true;             // What has come is what was expected.
    bool matched = false;         // Its last chunk has come.
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
  // Receives whose last chunk has not come, in the order posted.
  std::map<Route, std::deque<TransferId>> expected_;
  MpiMessages leftovers_;
};

}  // namespace hvd::transport
