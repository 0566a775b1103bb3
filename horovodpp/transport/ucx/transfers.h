// SPDX-License-Identifier: Apache-2.0
// UcxTransfers implements transfers by UCX's active messages. A message's
// header names its transfer, and its size is known before its first byte is
// written. So memory is never overrun, and every posted receive can be
// cancelled. Large messages wait at their sender until a receive is posted, and
// then travel directly between the callers' memories.
//
// UCX may deliver a short message before an earlier long one. The headers of
// each pair of ranks are numbered, and taken in that order.
//
// One thread at a time drives it.
#pragma once

#include <ucp/api/ucp.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
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
#include "horovodpp/transport/ucx/calls.h"
#include "horovodpp/transport/ucx/worker.h"

namespace hvd::transport {

class UcxTransfers {
 public:
  struct Options {
    int rank = 0;
    int size = 1;
    // How long a transfer whose endpoint has failed waits for the report that
    // its peer is dead, before it fails itself.
    std::chrono::milliseconds grace = std::chrono::seconds(10);
  };

  // `worker` is borrowed; it is connected before the first transfer is posted.
  UcxTransfers(UcxWorker& worker, const Options& options);
  // Ends all transfers, and the worker's connections.
  ~UcxTransfers();
  UcxTransfers(const UcxTransfers&) = delete;
  UcxTransfers& operator=(const UcxTransfers&) = delete;

  // As in Communicator; the ranks are known to exist. After an error from
  // test() the id is invalid, too.
  TransferId post_send(int to, DataTag tag, std::span<const std::byte> bytes);
  TransferId post_receive(int from, DataTag tag, std::span<std::byte> bytes);
  //   InvalidArgument  the sizes differ
  //   Unavailable      UCX has lost the peer
  absl::StatusOr<bool> test(TransferId id);
  bool abandon(TransferId id);

  void progress();
  // The peer of a posted transfer.
  std::optional<int> peer_of(TransferId id) const;

 private:
  struct Header {
    std::uint64_t number = 0;  // Of the messages between two ranks.
    std::int32_t from = 0;
    std::uint32_t epoch = 0;
    std::uint32_t sequence = 0;
    std::uint32_t unused = 0;
  };
  // Peer, epoch, sequence.
  using Route = std::tuple<int, std::uint32_t, std::uint32_t>;

  struct Transfer {
    bool receives = false;
    Route route;
    Header header{};                // Sends only. UCX reads it until the end.
    std::span<std::byte> target{};  // Receives only.
    std::optional<UcxRequest> request{};
    bool done = false;  // Without UCX, or with the error of `outcome`.
    absl::Status outcome{};

    bool is_complete() {
      return done || (request && request->status() == UCS_OK);
    }
  };

  // A message that UCX has delivered whole, or the offer of a large one.
  struct Arrival {
    Header header{};
    std::size_t bytes = 0;
    void* kept = nullptr;  // The data or offer, to be released; else in `copy`.
    bool is_offer = false;
    std::string copy{};

    std::span<const std::byte> data() const;
  };
  // The messages of one rank.
  struct Incoming {
    std::uint64_t next = 0;  // Number of the next one.
    std::map<std::uint64_t, Arrival> waiting{};
  };

  void set_handler(ucp_am_recv_callback_t handler);
  static ucs_status_t on_arrival(void* self, const void* header,
                                 std::size_t header_bytes, void* data,
                                 std::size_t bytes,
                                 const ucp_am_recv_param_t* param);
  // The posted receive that a message belongs to, if any.
  Transfer* take_expected(const Header& header);
  void deliver(Arrival arrival);
  void fill(Transfer& transfer, Arrival& arrival);
  void complete(Transfer& transfer, std::span<const std::byte> bytes) const;
  void release(Arrival& arrival);
  absl::Status check_peer(Transfer& transfer);
  absl::Status size_mismatch(const Transfer& transfer, std::size_t bytes) const;

  UcxWorker& worker_;
  const Options options_;
  TransferId next_id_ = 1;
  std::vector<std::uint64_t> sent_;  // Messages to each rank.
  std::vector<Incoming> incoming_;   // From each rank.
  bool has_waiting_ = false;         // Messages wait for progress().
  bool is_leaving_ = false;
  absl::flat_hash_map<TransferId, std::unique_ptr<Transfer>> posted_;
  std::map<Route, std::deque<TransferId>> expected_;  // Posted receives.
  std::map<Route, std::deque<Arrival>> early_;  // Messages without a receive.
  // Abandoned transfers that UCX has not ended.
  std::list<std::unique_ptr<Transfer>> leftovers_;
};

}  // namespace hvd::transport
