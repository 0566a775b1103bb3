// SPDX-License-Identifier: Apache-2.0
// ArenaCopies are what one member of a call copies from the arenas of the others, or
// into them, once all have listed where their memory lies (arena_listing.h): each
// byte once, without a slot in between.
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
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/shm/arena_table.h"
#include "horovodpp/collective/shm/seat.h"

namespace hvd::collective {

class ArenaCopies {
 public:
  // What each member lists, in bytes, and as which piece.
  static constexpr std::size_t kInput = 0;
  static constexpr std::size_t kOutput = 1;
  static std::array<Piece, 2> listed(std::span<const std::byte> input,
                                     std::byte* output,
                                     std::size_t output_bytes);

  // Where what is copied lies in the arenas of all: every member's output, if it may be
  // written to, or every member's input. A member that writes into the others' outputs
  // need not wait for lines that they have just written: so that is the faster way.
  enum class Way { kNone, kFromInputs, kIntoOutputs };
  // The same on all members. The m-th sends sent(m) bytes and receives received(m).
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

  // The places may be the same, or do not overlap.
  void add(const std::byte* from, std::byte* to, std::size_t bytes) {
    if (bytes > 0 && from != to) blocks_.push_back({from, to, bytes});
  }

  // Copies as a ResultCopy does, then waits until all members have copied theirs: until
  // then nobody changes what others read, nor reads what others write. Once, in step 0.
  //   (errors)  the interrupt's
  absl::Status run();

  // The same where members write into each other's memory: a member that fails
  // returns once nobody writes into its own any more.
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
