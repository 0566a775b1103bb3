// SPDX-License-Identifier: Apache-2.0
// ArenaCopies are the copies that one member of a call makes from the arenas of
// the others, or into them. All members have listed the place of their memory
// before (arena_listing.h). Each byte is copied once, without a slot in
// between:
//
//   listing.tell(ArenaCopies::listed(input, output, output_bytes), 1);
//   ...
//   ArenaCopies copies(seat);
//   copies.add(theirs, mine, bytes);
//   HVD_RETURN_IF_ERROR(copies.run());
//
// Belongs to one call. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/arena/table.h"
#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/reduce/piece.h"

namespace hvd::collective {

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
