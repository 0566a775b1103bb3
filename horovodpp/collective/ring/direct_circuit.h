// SPDX-License-Identifier: Apache-2.0
// Sends what a DirectFlow has between those who take part, through a ChunkLink.
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

// Who takes part, two or more, as the link numbers ranks, and which of them
// this one is.
struct DirectSeat {
  std::vector<int> members;
  int position = 0;

  DirectShape shape() const {
    return {.rank = position, .ranks = static_cast<int>(members.size())};
  }
};

// What a circuit's link stages through, where slots may have `most_bytes` and
// all of them together are to have about `total_bytes`. Between many ranks they
// are shorter; from some number on there is a slot of a few KiB for each.
Staging direct_staging(int ranks, std::size_t total_bytes,
                       std::size_t most_bytes);

// One flow on its way. It proceeds in stages, the same ones in the same order
// on all ranks: the contributions of a round, and its results, with the
// contributions of the next round before the results of this one. In a stage
// each rank sends one message, or none, to each of the others.
//
// What is short, and needed by all, goes whole: there each rank sends all it has
// to every other one, and all reduce all of it in the same order, to the same
// bits, in one step instead of two. The stages are the rounds then, without
// results. Between two ranks that moves no more bytes than the way there and back.
//
// Why nobody waits for ever: of all messages that have not arrived take one of the
// earliest stage. Its receiver has taken in what came before, and has room, as it
// keeps no more than the contributions of one round. Its sender has sent all that
// comes before, and reduced it if it is a result, in the slot of one of the
// contributions, all of which have arrived. Not thread-safe.
class DirectCircuit {
 public:
  // The link's staging is direct_staging() of as many ranks. Nobody else uses
  // the link meanwhile. Borrows flow and link.
  DirectCircuit(const DirectSeat& seat, DirectFlow& flow, ChunkLink& link);

  // Moves on as far as that goes without a wait. Done when the flow has taken in
  // all results, with the last sends perhaps under way.
  absl::StatusOr<Advance> advance();

 private:
  // The messages of a rank, all stages through, one for each of the others.
  struct Message {
    bool is_result;
    std::int64_t round;
    std::size_t peer;  // A position.
    Range range;       // Of which the message is.
    Range whole;       // The round's part of the segment that it belongs to.
    std::size_t bytes;
  };
  // Results that are not all sent yet.
  struct Results {
    std::int64_t round;
    std::byte* slot;
  };

  Message message(std::int64_t number, bool incoming) const;
  // What the rank at `position` reduces in a round.
  Range part_of(std::size_t position, std::int64_t round) const;
  Range segment_of(std::size_t position) const;
  std::int64_t total() const {
    return (goes_whole_ ? 1 : 2) * rounds_ * others_;
  }

  absl::Status post_receives();
  // Whether there was something to do that needed no wait.
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
  std::int64_t taken_ = 0;   // of which these have been taken in.
  std::int64_t sent_ = 0;
  int occupied_ = 0;          // Slots of receives that are posted or kept.
  std::int64_t reduced_ = 0;  // Rounds.
  // Contributions to this rank's part of the next one, by position, and whether
  // all are here.
  std::vector<std::byte*> kept_;
  bool is_complete_ = false;
  std::deque<Results> results_;
};

// Returns once all of it is done, with the last sends perhaps under way.
absl::Status exchange_directly(const DirectSeat& seat, DirectFlow& flow,
                               ChunkLink& link);

}  // namespace hvd::collective
