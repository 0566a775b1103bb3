// SPDX-License-Identifier: Apache-2.0
// An ShmAlltoall is an alltoall between ranks of a node. In step 0 all members
// show their sizes: only then is known how much goes where, and whether the
// sizes match. Data takes one of three ways:
// - Data that fits into a slot is shown with the sizes, unless it lies in an
//   arena and is large.
// - Members copy from the arenas of all members, or into them, if the data lies
//   there.
// - Everything else is shown in chunks, from which each member picks its parts.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/arena/map.h"
#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/shm/arena_copies.h"
#include "horovodpp/collective/shm/result_copy.h"

namespace hvd::collective {

class ShmAlltoall {
 public:
  // Borrows its arguments. `arenas` may be nullptr.
  ShmAlltoall(const BoardSeat& seat, ArenaMap* arenas,
              const Alltoall& exchange);

  // Call once, within a call on the board.
  //   InvalidArgument  a rank sends another size than its receiver expects; the
  //                    same on all ranks
  absl::Status run();

  // run() in parts. meet() shows this rank's part of step 0 and waits until all
  // members have arrived. check_sizes() returns run()'s InvalidArgument.
  // finish() does the rest.
  absl::Status meet();
  absl::Status check_sizes() const;
  absl::Status finish();

  // After meet(): the bytes that the member at `from` sends to the member at
  // `to`.
  std::size_t sent(std::size_t from, std::size_t to) const {
    return shown(from, to);
  }

 private:
  // The data that one rank sends to this rank: its place in the sender's input
  // and stream, and in the output. A rank's stream holds its data for the other
  // ranks, beginning with the rank after it. So all ranks send at the same time
  // to different ranks.
  struct Delivery {
    std::size_t in_input = 0;
    std::size_t in_stream = 0;
    std::size_t bytes = 0;
    std::byte* output = nullptr;
  };

  std::size_t parts() const { return seat_.members.size(); }
  std::size_t row_bytes() const { return 2 * parts() * sizeof(std::size_t); }
  // Whether a member that sends and receives so much lists its memory. If both
  // sizes are small, no member reads its entry.
  bool lists(std::size_t sent, std::size_t received) const {
    return listing_ && std::max(sent, received) > most_copied_;
  }
  bool all_list() const;
  // Whether this rank, or every rank, shows its stream in step 0.
  bool shows_at_once() const;
  bool have_all_shown() const;
  // A number that a member shows first: the bytes that it sends to each, then
  // the bytes that it expects from each.
  std::size_t shown(std::size_t member, std::size_t column) const;
  // The bytes that a member sends in all, and receives. Read from the slots of
  // step 0.
  std::size_t sent(std::size_t from) const;
  std::size_t received(std::size_t to) const;

  // Sets deliveries_ and most_.
  void plan();
  absl::Status in_arenas(const ArenaTable::Inputs& places,
                         ArenaCopies::Way way);
  absl::Status through_slots();
  ArenaCopies::Way choose(const ArenaTable::Inputs& places) const;
  // Copies the parts for this rank. Call after meet() and before slots are
  // filled again.
  ResultCopy copy_of_parts() const;
  void keep_own(ResultCopy& copy) const;
  // The length of this rank's stream.
  std::size_t streams() const {
    return exchange_.input.size() -
           exchange_.send_bytes[static_cast<std::size_t>(seat_.rank)];
  }
  // A range of bytes of a stream.
  struct Window {
    std::size_t begin;
    std::size_t end;
  };
  // Copies the bytes of this rank's stream that lie in the window.
  void show(const Window& window, std::byte* to) const;
  // Takes this rank's bytes out of the window of `peer`'s stream, which lies at
  // `from`.
  void pick(int peer, const Window& window, const std::byte* from,
            ResultCopy& copy) const;

  const BoardSeat& seat_;
  ArenaMap* const arenas_;
  const Alltoall& exchange_;
  // Also nullopt if slots have no room for a listing.
  std::optional<ArenaListing> listing_;
  // Slots hold a row of sizes, the listing, and the data shown with them.
  std::size_t shown_at_ = 0;
  std::size_t room_ = 0;              // Most bytes of a stream in step 0;
  std::size_t most_copied_ = 0;       // the same for streams in an arena.
  std::vector<Delivery> deliveries_;  // By sender.
  std::size_t most_ = 0;              // The length of the longest stream.
};

// An AlltoallAlike, within a call on the board.
absl::StatusOr<bool> exchange_if_alike(const BoardSeat& seat, ArenaMap* arenas,
                                       const AlltoallAlike& exchange);

}  // namespace hvd::collective
