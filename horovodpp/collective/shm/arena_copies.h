// SPDX-License-Identifier: Apache-2.0
// ArenaCopies are the copies that one member of a call makes from the arenas of
// the others, or into them. All members have listed the place of their memory
// before (ArenaListing). Each byte is copied once, without a slot in
// between:
//
//   listing.list(ArenaCopies::listed(input, output, output_bytes), 1);
//   ...
//   ArenaCopies copies(seat);
//   copies.add(theirs, mine, bytes);
//   HVD_RETURN_IF_ERROR(copies.run());
//
// Belongs to one call. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "horovodpp/collective/arena/map.h"
#include "horovodpp/collective/arena/table.h"
#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/reduce/piece.h"

namespace hvd::collective {

// An ArenaListing is step 0 of a call whose pieces may lie in the arenas. Each
// member tells the others where its pieces lie. A member whose pieces lie
// elsewhere may show them at once, behind its table; if all members do, that
// saves a step:
//
//   ArenaListing listing(seat, arenas);
//   listing.list(pieces, element_bytes);
//   const bool fits = bytes <= listing.room();
//   if (fits && listing.is_foreign(kAny)) listing.show(pieces, element_bytes);
//   HVD_RETURN_IF_ERROR(listing.meet());
//   if (fits && listing.are_foreign(kAny)) ...  // use the slots
//   ArenaTable::sort(listing.reading(), ...)    // else use the arenas
//
// Members write nothing before all have arrived, so the call can be given up
// like any other. Not thread-safe.
class ArenaListing {
 public:
  using Share = ArenaTable::Share;

  // Borrows its arguments. The tables begin at byte `begin` of the slots, on
  // all members.
  ArenaListing(const BoardSeat& seat, ArenaMap& arenas, std::size_t begin = 0)
      : seat_(seat), arenas_(arenas), begin_(begin) {}

  // Lists this member's pieces. Call once; before list() its entries are
  // undefined.
  void list(std::span<const Piece> pieces, std::size_t element_bytes);

  // The bytes that a member may show behind its table, if the table fits, and
  // their place. Call after list(). The same on all members that list the same
  // number of pieces.
  std::size_t room() const {
    return seat_.slot_bytes() - std::min(shown_at_, seat_.slot_bytes());
  }
  std::size_t shown_at() const { return shown_at_; }

  // Whether any, or all, of this member's pieces lie outside its arena.
  // Requires room() > 0: then the table lists all pieces.
  bool is_foreign(Share share) const { return is_foreign(mine(), share); }
  // Shows the inputs of all pieces.
  void show(std::span<const Piece> pieces, std::size_t element_bytes);

  // Waits until all members have listed their pieces.
  //   (errors)  see ShmBoard::wait_for_arrivals()
  absl::Status meet();
  // meet() for a call in which members write into each other's memory. A member
  // that fails returns only after the others have stopped writing into its
  // memory.
  absl::Status meet_to_write();

  // After meet(): is_foreign() of one member, and of all members.
  bool is_foreign(int position, Share share) const {
    return is_foreign(slots_[static_cast<std::size_t>(position)], share);
  }
  bool are_foreign(Share share) const;

  ArenaTable::Reading reading() const {
    return {.map = arenas_,
            .members = seat_.members,
            .slots = slots_,
            .ranks = ranks()};
  }

 private:
  std::size_t ranks() const {
    return static_cast<std::size_t>(seat_.board.ranks());
  }
  bool is_foreign(std::span<const std::byte> slot, Share share) const {
    return ArenaTable::lists_foreign(slot, pieces_, ranks(), share);
  }
  std::span<std::byte> mine() const {
    return {seat_.board.mine() + begin_, seat_.slot_bytes() - begin_};
  }

  const BoardSeat& seat_;
  ArenaMap& arenas_;
  const std::size_t begin_;
  absl::InlinedVector<std::span<const std::byte>, 8> slots_;
  std::size_t pieces_ = 0;
  std::size_t shown_at_ = 0;
};

class ArenaCopies {
 public:
  // The pieces that each member lists, in bytes.
  static constexpr std::size_t kInput = 0;
  static constexpr std::size_t kOutput = 1;
  static std::array<Piece, 2> listed(std::span<const std::byte> input,
                                     std::byte* output,
                                     std::size_t output_bytes);

  // The direction of the copies. kIntoOutputs: every member's output lies in an
  // arena that others may write to. kFromInputs: every member's input lies in
  // an arena. Writing into outputs is faster: the writer need not wait for
  // cache lines that others have just written.
  enum class Way { kNone, kFromInputs, kIntoOutputs };
  // Returns the same on all members. Member m sends sent(m) bytes and receives
  // received(m).
  template <typename Sent, typename Received>
  static Way choose(const ArenaTable::Inputs& places, std::size_t members,
                    bool may_write, Sent sent, Received received) {
    bool inputs = true;
    bool outputs = may_write;
    for (std::size_t m = 0; m < members; ++m) {
      inputs =
          inputs && (sent(m) == 0 || places.at(m, kInput, sent(m)) != nullptr);
      outputs = outputs && (received(m) == 0 ||
                            places.at(m, kOutput, received(m)) != nullptr);
    }
    if (outputs) return Way::kIntoOutputs;
    return inputs ? Way::kFromInputs : Way::kNone;
  }

  explicit ArenaCopies(const BoardSeat& seat) : seat_(seat) {}

  // The two ranges must be equal or disjoint.
  void add(const std::byte* from, std::byte* to, std::size_t bytes) {
    if (bytes > 0 && from != to) blocks_.push_back({from, to, bytes});
  }

  // Copies as a ResultCopy does, then waits until all members have copied.
  // Until then members neither change what others read, nor read what others
  // write. Call once, in step 0.
  //   (errors)  the interrupt's
  absl::Status run();

  // run() for members that write into each other's memory. A member that fails
  // returns only after the others have stopped writing into its memory.
  //   Aborted   a member has given the call up
  absl::Status run_into_others();

 private:
  struct Block {
    const std::byte* from;
    std::byte* to;
    std::size_t bytes;
  };

  const BoardSeat& seat_;
  std::vector<Block> blocks_;
};

}  // namespace hvd::collective
