// SPDX-License-Identifier: Apache-2.0
// Transfers over frame streams. A frame goes straight into the memory of the
// receive it belongs to; one that comes before its receive is posted waits in
// memory of its own.
//
// One thread drives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/frame_stream.h"

namespace hvd::transport {

class LocalTransfers {
 public:
  // A stream for each rank, none for this one; borrowed.
  using Streams = std::vector<std::unique_ptr<FrameStream>>;
  LocalTransfers(int rank, const Streams& streams)
      : rank_(rank), streams_(streams), filling_(streams.size()) {}

  // As Communicator has them; ranks are known to exist. The streams are moved on
  // by others. After an error from test() the id is forgotten too.
  TransferId post_send(int to, DataTag tag, std::span<const std::byte> bytes);
  TransferId post_receive(int from, DataTag tag, std::span<std::byte> bytes);
  absl::StatusOr<bool> test(TransferId id);
  void abandon(TransferId id);

  // As FrameReader has them, of frames of data.
  std::byte* memory_for(int from, const FrameHeader& header);
  void arrived(int from, const FrameHeader& header, std::string bytes);

 private:
  // Peer, epoch, sequence.
  using Route = std::tuple<int, std::uint32_t, std::uint32_t>;

  struct Transfer {
    bool receives = false;
    Route route;
    std::span<std::byte> target{};   // Of a receive.
    FrameStream::Number number = 0;  // Of a send to another rank.
    bool done = false;
    absl::Status outcome{};
  };

  FrameStream* stream(int rank) const {
    return streams_[static_cast<std::size_t>(rank)].get();
  }
  std::optional<TransferId>& filling(int from) {
    return filling_[static_cast<std::size_t>(from)];
  }
  // The receive that the next frame of `route` belongs to, if it is posted.
  std::optional<TransferId> take_expected(const Route& route);
  void complete(Transfer& transfer, std::span<const std::byte> bytes) const;
  absl::Status size_mismatch(const Transfer& transfer,
                             std::uint64_t bytes) const;

  const int rank_;
  const Streams& streams_;
  TransferId next_id_ = 1;
  absl::flat_hash_map<TransferId, std::unique_ptr<Transfer>> posted_;
  std::map<Route, std::deque<TransferId>> expected_;  // Receives.
  std::map<Route, std::deque<std::string>> early_;    // Of none so far.
  // The receive whose frame is arriving, of each peer.
  std::vector<std::optional<TransferId>> filling_;
};

}  // namespace hvd::transport
