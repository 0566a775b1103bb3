// SPDX-License-Identifier: Apache-2.0
// LocalTransfers implements transfers over frame streams. A frame goes directly
// into the memory of its receive. A frame that arrives before its receive is
// posted waits in a buffer.
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
#include "horovodpp/transport/local/frame_stream.h"

namespace hvd::transport {

class LocalTransfers {
 public:
  // One stream per rank, null for this rank; borrowed.
  using Streams = std::vector<std::unique_ptr<FrameStream>>;
  LocalTransfers(int rank, const Streams& streams)
      : rank_(rank), streams_(streams), filling_(streams.size()) {}

  // As in Communicator; the ranks are known to exist. The owner of the streams
  // progresses them. After an error from test() the id is invalid, too.
  TransferId post_send(int to, DataTag tag, std::span<const std::byte> bytes);
  TransferId post_receive(int from, DataTag tag, std::span<std::byte> bytes);
  absl::StatusOr<bool> test(TransferId id);
  void abandon(TransferId id);
  // The other rank that an incomplete transfer waits for.
  std::optional<int> awaited_peer(TransferId id) const;

  // As in FrameReader, for data frames.
  std::byte* memory_for(int from, const FrameHeader& header);
  void arrived(int from, const FrameHeader& header, std::string bytes);

 private:
  // Peer, epoch, sequence.
  using Route = std::tuple<int, std::uint32_t, std::uint32_t>;

  struct Transfer {
    bool receives = false;
    Route route;
    std::span<std::byte> target{};   // Receives only.
    FrameStream::Number number = 0;  // Sends to other ranks only.
    bool done = false;
    absl::Status outcome{};
  };

  FrameStream* stream(int rank) const {
    return streams_[static_cast<std::size_t>(rank)].get();
  }
  std::optional<TransferId>& filling(int from) {
    return filling_[static_cast<std::size_t>(from)];
  }
  bool is_done(const Transfer& transfer) const;
  // The posted receive that the next frame of `route` belongs to, if any.
  std::optional<TransferId> take_expected(const Route& route);
  void complete(Transfer& transfer, std::span<const std::byte> bytes) const;
  absl::Status size_mismatch(const Transfer& transfer,
                             std::uint64_t bytes) const;

  const int rank_;
  const Streams& streams_;
  TransferId next_id_ = 1;
  absl::flat_hash_map<TransferId, std::unique_ptr<Transfer>> posted_;
  std::map<Route, std::deque<TransferId>> expected_;  // Posted receives.
  std::map<Route, std::deque<std::string>> early_;  // Frames without a receive.
  // For each peer, the receive whose frame is arriving.
  std::vector<std::optional<TransferId>> filling_;
};

}  // namespace hvd::transport
