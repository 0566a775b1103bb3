// SPDX-License-Identifier: Apache-2.0
// A Communicator connects one rank to the other ranks of its job: it moves
// bytes between ranks and knows nothing of tensors. After start-up, everything
// is posted and polled; no call blocks.
//
// Two kinds of traffic:
//   mail      a message of any size to any rank at any time; arrives whole, in
//             the order sent per pair of ranks, and need not be expected.
//   transfers bytes of a size that both sides know, directly between their
//             memories, matched by (peer, tag).
//
// Not thread-safe: one thread at a time drives it. The exceptions are
// distrust() and the callback of on_peer_lost, which runs on a thread of the
// communicator.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/core/job/link_use.h"
#include "horovodpp/core/job/topology.h"

namespace hvd::transport {

class CallMeter;

struct Mail {
  int from = 0;
  std::string bytes;
};

// Identifies the collective that a transfer belongs to. Transfers of an
// abandoned epoch never match a later one.
struct DataTag {
  std::uint32_t epoch = 0;
  // Number of the collective within the epoch; may wrap.
  std::uint32_t sequence = 0;
};

// A posted transfer, until test() has returned true or abandon() was called.
using TransferId = std::uint64_t;

class Communicator {
 public:
  using LostCallback = std::function<void(int rank, const std::string& how)>;

  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const { return static_cast<int>(peers().size()); }
  // Host, pid and node of every rank, gathered at start-up.
  virtual const std::vector<Peer>& peers() const = 0;

  // Start-up only, before the first mail: every rank passes a string and gets
  // all strings, in rank order. Blocks.
  //   DeadlineExceeded  ranks are missing at `deadline`; says how many if known
  //   Aborted           a rank is dead; names it
  virtual absl::StatusOr<std::vector<std::string>> exchange(
      const std::string& mine,
      std::chrono::steady_clock::time_point deadline) = 0;

  // Sends a message and takes over its bytes. `to` may be this rank.
  //   InvalidArgument  there is no rank `to`
  virtual absl::Status send_mail(int to, std::string bytes) = 0;

  // The next message that has arrived, if any. Also progresses pending sends.
  virtual absl::StatusOr<std::optional<Mail>> receive_mail() = 0;

  // True when everything sent with send_mail has left this rank's memory.
  virtual absl::StatusOr<bool> mail_is_flushed() = 0;

  // Sends a heartbeat to a rank of another host, apart from mail, which arrives
  // as soon as a broken link recovers. Best effort; many communicators have
  // none.
  virtual void send_beat(int /*to*/) {}
  // Ranks whose heartbeats have arrived since the last call.
  virtual std::vector<int> receive_beats() { return {}; }

  // Posts one side of a transfer. The memory is borrowed until test() returns
  // true or abandon() returns. Transfers with equal peer and tag match in the
  // order posted. If the peer posted another size, the receiver's test()
  // returns InvalidArgument; memory is never overrun.
  virtual absl::StatusOr<TransferId> post_send(
      int to, DataTag tag, std::span<const std::byte> bytes) = 0;
  virtual absl::StatusOr<TransferId> post_receive(
      int from, DataTag tag, std::span<std::byte> bytes) = 0;

  // Whether the transfer is complete; also progresses it. Once true, the id is
  // invalid.
  virtual absl::StatusOr<bool> test(TransferId id) = 0;

  // Gives up a transfer. Returns true if the caller may reuse its memory. On
  // false, the memory may be read (send) or written (receive of an arriving
  // message) until the process ends: keep it mapped and unused.
  virtual bool abandon(TransferId id) = 0;

  // Calls `callback` on another thread, once for every rank whose death this
  // communicator detects (ranks of the same host, by pidfd). It is called at
  // once for ranks that are already dead. Also for this rank, if
  // has_open_descriptors() becomes false. An empty callback removes it: after
  // that call returns, no callback is running or will run.
  virtual void on_peer_lost(LostCallback callback) = 0;

  // False once the program has closed the descriptors of its process, this
  // communicator's included. Thread-safe.
  virtual bool has_open_descriptors() const { return true; }

  // Limits in detecting deaths that users should know; "" if none.
  virtual std::string caveat() const { return ""; }

  // The use of each connection to a rank of another host, if the system counts
  // it. Thread-safe.
  virtual std::vector<LinkUse> link_uses() const { return {}; }

  // The calls into the library below, if one may never return; nullptr if all
  // return. Lives as long as this.
  virtual const CallMeter* calls() const { return nullptr; }

  // The job that used this is broken: ranks may be gone without having been
  // detected. From now on nothing waits for any rank, not even the end of the
  // process. Thread-safe.
  virtual void distrust() {}

 protected:
  //   InvalidArgument  there is no rank `rank`
  absl::Status check_rank(int rank) const;
};

}  // namespace hvd::transport
