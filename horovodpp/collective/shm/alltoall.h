// SPDX-License-Identifier: Apache-2.0
// An ShmAlltoall is an alltoall between ranks of a node. How much goes where, and
// whether the sizes fit together, is known only once all have shown their sizes. They
// show what they send along with them if it fits into a slot, unless it lies in an arena
// and is not little. Otherwise members copy from the arenas of all, or into them, if it
// lies there; all else is shown in chunks, of which everyone picks what is for it.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/shm/arena_copies.h"
#include "horovodpp/collective/shm/arena_listing.h"
#include "horovodpp/collective/shm/arena_map.h"
#include "horovodpp/collective/shm/result_copy.h"
#include "horovodpp/collective/shm/seat.h"

namespace hvd::collective {

class ShmAlltoall {
 public:
  // Borrows its arguments. No `arenas`: nullptr.
  ShmAlltoall(const BoardSeat& seat, ArenaMap* arenas,
              const HostPlane::Exchange& exchange);

  // Once, within a call on the board.
  //   InvalidArgument  a rank sends another size than its receiver expects; the
  //                    same on all ranks
  absl::Status run();

  // The same by parts: what this rank shows in step 0 until all have arrived there;
  // whether the sizes fit together, with run()'s error; and all else.
  absl::Status meet();
  absl::Status check_sizes() const;
  absl::Status finish();

  // After meet(): the bytes that the member at `from` sends to that at `to`.
  std::size_t sent(std::size_t from, std::size_t to) const {
    return shown(from, to);
  }

 private:
  // What one rank sends to this one: where it lies in the sender's input and in its
  // stream, and where it goes. A rank's stream is what it sends to others, from the one
  // after it on and around, so that all send at the same time and to different ranks.
  struct Delivery {
    std::size_t in_input = 0;
    std::size_t in_stream = 0;
    std::size_t bytes = 0;
    std::byte* output = nullptr;
  };

  std::size_t parts() const { return seat_.members.size(); }
  std::size_t row_bytes() const { return 2 * parts() * sizeof(std::size_t); }
  // Of a member that sends and receives so much. Where it is little on both sides
  // nobody asks for it.
  bool lists(std::size_t sent, std::size_t received) const {
    return listing_ && std::max(sent, received) > most_copied_;
  }
  bool all_list() const;
  // Whether this rank shows its stream in step 0, and whether all have.
  bool shows_at_once() const;
  bool have_all_shown() const;
  // What a rank shows first: what it sends to each, then what it expects from each.
  std::size_t shown(std::size_t member, std::size_t column) const;
  // What a member sends to all, and receives. These are read in the slots of step 0.
  std::size_t sent(std::size_t from) const;
  std::size_t received(std::size_t to) const;

  // Sets deliveries_ and most_.
  void plan();
  absl::Status in_arenas(const ArenaTable::Inputs& places,
                         ArenaCopies::Way way);
  absl::Status through_slots();
  ArenaCopies::Way choose(const ArenaTable::Inputs& places) const;
  // For all that goes to this rank. After share_sizes(), before slots are filled anew.
  ResultCopy copy_of_parts() const;
  void keep_own(ResultCopy& copy) const;
  // The length of this rank's stream.
  std::size_t streams() const {
    return exchange_.input.size() -
           exchange_.send_bytes[static_cast<std::size_t>(seat_.rank)];
  }
  // Bytes of a stream.
  struct Window {
    std::size_t begin;
    std::size_t end;
  };
  // Copies what there is of these of this rank's.
  void show(const Window& window, std::byte* to) const;
  // Takes what is for this rank from those of `peer`, which lie at `from`.
  void pick(int peer, const Window& window, const std::byte* from,
            ResultCopy& copy) const;

  const BoardSeat& seat_;
  ArenaMap* const arenas_;
  const HostPlane::Exchange& exchange_;
  // Nothing, too, where slots have no room for it.
  std::optional<ArenaListing> listing_;
  // In slots: a row of sizes, the listing, what is shown along with them.
  std::size_t shown_at_ = 0;
  std::size_t room_ = 0;              // Of a stream that is;
  std::size_t most_copied_ = 0;       // wherever it lies.
  std::vector<Delivery> deliveries_;  // By sender.
  std::size_t most_ = 0;              // The length of the longest stream.
};

// HostPlane's alltoall_alike(), within a call on the board.
absl::StatusOr<bool> exchange_if_alike(
    const BoardSeat& seat, ArenaMap* arenas,
    const HostPlane::ExchangeAlike& exchange);

}  // namespace hvd::collective
