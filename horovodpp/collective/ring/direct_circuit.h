// SPDX-License-Identifier: Apache-2.0
// A DirectCircuit sends the data of a DirectFlow between its participants,
// through a ChunkLink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/direct_flow.h"
#include "horovodpp/collective/ring/staging.h"

namespace hvd::collective {

// The participants, two or more, as the link numbers ranks, and this rank's
// position among them.
struct DirectSeat {
  std::vector<int> members;
  int position = 0;

  DirectShape shape() const {
    return {.rank = position, .ranks = static_cast<int>(members.size())};
  }
};

// The staging of a circuit's link: slots of up to `most_bytes`, about
// `total_bytes` together. Between many ranks the slots are shorter; beyond some
// number of ranks each has a slot of a few KiB.
Staging direct_staging(int ranks, std::size_t total_bytes,
                       std::size_t most_bytes);

// One flow in progress. It proceeds in stages, the same in the same order on
// all ranks. A stage is the contributions of a round, or its results; the
// contributions of the next round come before the results of this one. In a
// stage each rank sends one message, or none, to each of the others.
//
// Short data that all ranks need is sent whole: each rank sends all its data to
// every other one. All reduce everything in the same order, to the same bits,
// in one step instead of two. The stages then are the rounds, without results.
// Between two ranks that moves no more bytes than contributions and results.
//
// No deadlock: of all messages that have not arrived take one of the earliest
// stage. Its receiver has taken in the earlier messages, and has room, because
// it keeps no more than the contributions of one round. Its sender has sent all
// earlier messages. If it is a result, the sender has also reduced it, in the
// slot of a contribution, because all contributions have arrived. Not
// thread-safe.
class DirectCircuit {
 public:
  // The link's staging is direct_staging() for as many ranks. The link has no
  // other user meanwhile. Borrows flow and link.
  DirectCircuit(const DirectSeat& seat, DirectFlow& flow, ChunkLink& link);

  // Advances as far as possible without a wait. Done when the flow has taken in
  // all results; the last sends may be under way.
  absl::StatusOr<Advance> advance();

 private:
  // A message of a rank. In each stage a rank has one for each of the others.
  struct Message {
    bool is_result;
    std::int64_t round;
    std::size_t peer;  // A position.
    Range range;       // The elements of the message.
    Range whole;       // The round's part of its segment.
    std::size_t bytes;
  };
  // Results that are not all sent yet.
  struct Results {
    std::int64_t round;
    std::byte* slot;
  };

  Message message(std::int64_t number, bool incoming) const;
  // The elements that the rank at `position` reduces in a round.
  Range part_of(std::size_t position, std::int64_t round) const;
  Range segment_of(std::size_t position) const;
  std::int64_t total() const {
    return (goes_whole_ ? 1 : 2) * rounds_ * others_;
  }

  absl::Status post_receives();
  // Sends the next message if possible without a wait; returns whether it did
  // something.
  absl::StatusOr<bool> send_next();
  absl::StatusOr<bool> take_next();
  bool reduce_round();
  void finish_round(std::int64_t round);
  void release(std::byte* slot);

  const DirectSeat seat_;
  DirectFlow& flow_;
  ChunkLink& link_;
  const std::int64_t others_;
  const bool goes_whole_;
  const std::int64_t per_round_;  // Elements of a segment.
  const std::int64_t rounds_;
  std::int64_t posted_ = 0;  // Receives,
  std::int64_t taken_ = 0;   // of which so many are taken in.
  std::int64_t sent_ = 0;
  int occupied_ = 0;          // Slots of posted or kept receives.
  std::int64_t reduced_ = 0;  // Rounds.
  // Contributions to this rank's part of the next round, by position, and
  // whether all have arrived.
  std::vector<std::byte*> kept_;
  bool is_complete_ = false;
  std::deque<Results> results_;
};

// Returns once the exchange is done; the last sends may be under way.
absl::Status exchange_directly(const DirectSeat& seat, DirectFlow& flow,
                               ChunkLink& link);

}  // namespace hvd::collective
