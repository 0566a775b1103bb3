// SPDX-License-Identifier: Apache-2.0
// A Communicator is one rank's end of the wires of a job: it moves bytes
// between ranks and knows nothing of tensors. Everything after start-up is
// posted and polled; no call blocks.
//
// Two kinds of traffic:
//   mail      a message of any size to any rank at any time; arrives whole, in
//             the order sent per pair of ranks; the receiver need not expect it.
//   transfers bytes of a size both sides know, straight between their memories,
//             matched by (peer, tag).
//
// Not thread-safe: one thread at a time drives it. The exceptions are distrust()
// and the callback of on_peer_lost, which comes from a thread of the
// communicator's own.
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
#include "horovodpp/core/topology.h"

namespace hvd::transport {

class CallMeter;

struct Mail {
  int from = 0;
  std::string bytes;
};

// What a transfer belongs to. Transfers of an abandoned epoch never match a
// later one.
struct DataTag {
  std::uint32_t epoch = 0;
  std::uint32_t sequence = 0;  // Of the collective within the epoch; may wrap.
};

// Names a posted transfer until test() has returned true or abandon() was
// called.
using TransferId = std::uint64_t;

class Communicator {
 public:
  using LostCallback = std::function<void(int rank, const std::string& how)>;

  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Host, pid and node of every rank, gathered at start-up.
  virtual const std::vector<Peer>& peers() const = 0;

  // Start-up only, before the first mail: every rank gives a string and gets
  // all of them, in rank order. Blocks.
  //   DeadlineExceeded  not all ranks came before `deadline`; says how many if
  //                     known
  //   Aborted           a rank is dead; says which
  virtual absl::StatusOr<std::vector<std::string>> exchange(
      const std::string& mine,
      std::chrono::steady_clock::time_point deadline) = 0;

  // Sends a message; the bytes are taken over. To oneself is allowed.
  //   InvalidArgument  there is no rank `to`
  virtual absl::Status send_mail(int to, std::string bytes) = 0;

  // The next message that has arrived, if any. Also moves pending sends on.
  virtual absl::StatusOr<std::optional<Mail>> receive_mail() = 0;

  // True when everything sent with send_mail has left this rank's memory.
  virtual absl::StatusOr<bool> mail_is_flushed() = 0;

  // A sign of life for a rank of another host, which takes another way than mail: it
  // arrives as soon as a link that was away is back. Best effort; many ways have none.
  virtual void send_beat(int /*to*/) {}
  // The ranks whose signs of life have come since the last call.
  virtual std::vector<int> receive_beats() { return {}; }

  // Posts one side of a transfer. The memory is borrowed until test() returns
  // true or abandon() returns. Several transfers with equal peer and tag match
  // in the order posted. A peer that posts another size is an error
  // (InvalidArgument, from test()) at the receiver, never an overrun.
  virtual absl::StatusOr<TransferId> post_send(
      int to, DataTag tag, std::span<const std::byte> bytes) = 0;
  virtual absl::StatusOr<TransferId> post_receive(
      int from, DataTag tag, std::span<std::byte> bytes) = 0;

  // Whether the transfer is complete; moves it on. After true the id is
  // forgotten.
  virtual absl::StatusOr<bool> test(TransferId id) = 0;

  // Gives a transfer up. True if its memory is the caller's again; false if it
  // may be read (of a send) or written (of a receive whose message is just
  // arriving) until the process ends: leave it mapped then, and alone.
  virtual bool abandon(TransferId id) = 0;

  // `callback` is called once for every rank whose death this communicator can
  // see (ranks of the same host, by pidfd), from another thread; also at once
  // for ranks that are dead already. An empty callback ends it: after that call
  // returns no callback is running or will run.
  virtual void on_peer_lost(LostCallback callback) = 0;

  // What users should know of how deaths are seen here; "" if there is nothing
  // to say.
  virtual std::string caveat() const { return ""; }

  // The calls of the library below, if one of them may never return; nullptr:
  // they all do. Lives as long as this.
  virtual const CallMeter* calls() const { return nullptr; }

  // The job that used this is broken: ranks may be gone though nobody saw it.
  // From now on nothing waits for any, not even the end of the process.
  // Thread-safe.
  virtual void distrust() {}
};

}  // namespace hvd::transport
