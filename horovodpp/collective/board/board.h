// SPDX-License-Identifier: Apache-2.0
// A ShmBoard is one rank's view of the shared memory in which the ranks of a
// node show each other data. Counters say which slots may be read. The board
// serves calls between any of the ranks, one after the other. All ShmPlanes of
// a rank share its board, and the boards of all ranks share one region:
//
//   board.begin(members, label);
//   fill(board.mine());
//   board.arrive();                             // step 0
//   HVD_RETURN_IF_ERROR(board.wait_for_arrivals(0, interrupt));
//   use(board.slot(peer, 0));
//   board.end();
//
// A call takes place in steps:
// - Every member fills its slot and arrives.
// - After all have arrived, all may read all slots. Each may overwrite with
//   results the parts of any slot that no other member reads.
// - After all have finished, all may read the results.
//
// A rank has four slots, used in turn, and announces its two latest calls in
// two records. Three rules make these enough:
//   1. A rank arrives at a step only after it has seen all members arrive at
//      the step before.
//   2. A rank that arrives at step s no longer reads slots of step s - 3 or
//      earlier, or writes to other ranks' slots.
//   3. After the first step of a call, before anything else, a rank waits until
//      all members of its previous call have ended that call.
// Hence a rank never overwrites data that another rank reads:
// - Slots: before a rank fills the slot of step s it has seen all arrive at
//   step s - 1. So no rank uses the slot of s - 4, which lies in the same
//   place. If s is the first step of a call, the rank has seen its previous
//   call's members arrive at the last step of that call. If s - 4 belongs to a
//   call before the previous one, the rank has seen its members end it (3). If
//   s is the second step, (3) holds for the previous call too.
// - Records: the call after the next overwrites a record. (3) was kept in
//   between, so no member of the old call still looks for that record.
//
// No rank waits forever, even if sets of members overlap, provided that all
// ranks make their calls in one order. A rank in a call waits for members to
// enter or continue that call (1), or to end an earlier one (3). Take the
// earliest call in which a rank is stuck. All its members enter it. The calls
// that they wait for by (3) are earlier, and so they end. Then all members take
// the steps of the call.
//
// A call may be given up in its first step, because a member never enters it.
// No member has read it then, as that member has not arrived. The next call
// takes its place, record and slot included. Members that still wait in the old
// call no longer find its tag, or see an arrival while another one is still
// missing.
//
// The interrupt may say Cancelled although all members of the board have
// arrived. Some members would then give the call up and others would not, so
// they vote:
// - A member that hears Cancelled casts a vote against the call, in its own
//   word. Then it looks for all arrivals once more, and takes the vote back if
//   all are there.
// - A member that has seen all arrive looks at the votes, and waits until each
//   is settled.
// - A vote that stands was cast before the arrival that its member missed. So
//   every member that sees all arrive also sees that vote, and no member goes
//   on.
// - If no vote stands, all go on, and ignore Cancelled until the call is over.
// - A vote on a later call, between other members, may replace a vote that
//   stands. The record of the later call has then replaced this call's record.
//
// Members may also write into each other's memory, between arrival and
// finish(). A member that gives such a call up withdraws, to be sure that the
// writing has stopped:
// - A member that has seen all arrive checks that no member has withdrawn
//   before it writes.
// - If a member withdraws and then sees that not all have arrived, no member
//   will write.
// - If all have arrived, the member that withdraws can wait for the writers.
//
// Zeroed memory is an unused board. Not thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/node/segment.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

// Options of collectives through the memory of a node.
struct ShmOptions {
  // Size of one rank's slot. It is rounded to a multiple of 128 that has room
  // for two numbers for each rank. The region takes four slots for each rank.
  std::size_t chunk_bytes = std::size_t{256} << 10;
  // Every rank reduces all elements of tensors up to this size (and to a
  // chunk's), until measurements find a faster limit.
  std::size_t small_bytes = std::size_t{8} << 10;
  // The same limit for nodes with arenas. Copying such tensors takes less time
  // than finding out whether they lie in an arena.
  std::size_t unlisted_bytes = std::size_t{4} << 10;
  // A collective without a reduction goes through the slots, with or without
  // arenas, if no rank sends more than this.
  std::size_t copied_bytes = std::size_t{16} << 10;
  // Larger results, summed over all ranks, are written around the caches. The
  // last cache of most machines holds about this much.
  std::size_t cached_bytes = std::size_t{32} << 20;
  // The least that a broadcast's root shows in a step. The others copy one step
  // while the root shows the next, so short steps overlap sooner. Long
  // broadcasts take longer steps.
  std::size_t broadcast_step_bytes = std::size_t{64} << 10;
  // How long withdraw() waits for a member that neither ends the call nor is
  // known to be lost.
  std::chrono::milliseconds longest_withdrawal{250};
};

// Sizes from which calls use another algorithm: see crossovers.h.
struct ShmCrossovers {
  // Every rank reduces tensors up to this size in one step, unless they lie in
  // the arenas. Of larger tensors each rank reduces a slice.
  std::size_t small_bytes = 0;
  // The bytes of a large tensor that a rank shows in a step; at most a slot.
  std::size_t step_bytes = 0;

  friend bool operator==(const ShmCrossovers&, const ShmCrossovers&) = default;
};

class ShmBoard {
 public:
  static constexpr std::size_t kAlignment = 128;

  // Identifies the call that a rank is in. Equal on all members.
  struct Label {
    transport::DataTag tag;
    char kind = 0;            // The collective, as in kind_name().
    std::uint64_t bytes = 0;  // Below 2^56.
    // Tells apart two calls with the same tag: false for the first, true for
    // the second.
    bool second = false;
    // The interrupt may say Cancelled because of ranks beyond this board.
    // Members then vote on whether all of them give the call up.
    bool votes = false;

    bool operator==(const Label& other) const {
      return tag.epoch == other.tag.epoch &&
             tag.sequence == other.tag.sequence && kind == other.kind &&
             bytes == other.bytes && second == other.second &&
             votes == other.votes;
    }
  };

  static std::size_t bytes_needed(int ranks, const ShmOptions& options = {});

  // `region` is a part of the segment's payload, aligned to kAlignment, of at
  // least bytes_needed(). Its place and the options are equal on all ranks. If
  // it is too small or misaligned, every call fails with InvalidArgument. The
  // segment outlives the board.
  ShmBoard(transport::NodeSegment& segment, std::span<std::byte> region,
           const transport::WaitPolicy& waiting,
           const ShmOptions& options = {});

  int rank() const { return segment_.local_rank(); }
  int ranks() const { return segment_.local_size(); }
  const ShmOptions& options() const { return options_; }

  // Choose the algorithms of calls. They start as the options' small_bytes and
  // whole slots. Change them only between calls, to the same values on all
  // ranks. Both are at most a slot, and step_bytes is aligned like a slot.
  const ShmCrossovers& crossovers() const { return crossovers_; }
  void set_crossovers(const ShmCrossovers& values) { crossovers_ = values; }

  // Begins a call between `members`, local ranks that include this one. The
  // call borrows `members`. Sequence numbers may wrap: a tag may be used again
  // after every member has made two other calls. If arrive_and_look() returned
  // false, a call with the same label continues that call: see take_resumed().
  //   the reason  why the board cannot be used any more
  absl::Status begin(std::span<const int> members, const Label& label);

  // Whether this call was begun before, and this rank has arrived at step 0.
  // True only once.
  bool take_resumed() { return std::exchange(is_resumed_, false); }

  // The number of this rank's arrivals in the call, which is also its next
  // step, and its slot of that step.
  std::uint64_t steps() const { return steps_; }
  std::byte* mine() const { return slot(rank(), steps_); }

  // Announces that mine() is filled.
  void arrive();

  // Arrives at step 0 of a call without a vote, and looks for the others a few
  // times. Returns whether all are there and the conditions of
  // wait_for_arrivals(0) hold. If not, this call may be begun again.
  bool arrive_and_look();

  // Waits until all members have arrived at `step`; or returns the interrupt's
  // error. Step 0 also waits for the conditions of the two other rules. In a
  // call with a vote, all later waits ignore Cancelled.
  //   Internal  a member is in another call, or calls it by another label;
  //             names both
  absl::Status wait_for_arrivals(std::uint64_t step,
                                 transport::Interrupt& interrupt);

  // The slot of `member`; call after wait_for_arrivals(step).
  std::byte* slot(int member, std::uint64_t step) const;

  // Announces that this rank's result of `step` is in its slot.
  void finish(std::uint64_t step);
  // Waits until all members have finished `step`; or returns the interrupt's
  // error.
  absl::Status wait_for_results(std::uint64_t step,
                                transport::Interrupt& interrupt);

  // Returns OK if this rank may write into the memory of the others until it
  // finishes. Call after wait_for_arrivals(0). Otherwise this rank withdraws,
  // too: the member that gave up waits for it.
  //   Aborted  a member has given the call up; names it
  absl::Status check_no_withdrawal();

  // Call if this rank's wait for arrivals at `step`, or for its results, failed
  // and others may write into its memory. Returns when the writing has stopped:
  // each member has finished, has withdrawn, or is lost.
  void withdraw(std::uint64_t step);

  // Tells all ranks of the node that the process of `local_rank` has ended. Any
  // thread.
  void mark_lost(int local_rank);

  // Ends the call: this rank has arrived at its last step and no longer reads
  // slots.
  void end();

  // Ends a failed call and returns its error. After Cancelled, before all
  // members had arrived at step 0, the board stays usable.
  absl::Status give_up(const absl::Status& why);

 private:
  static constexpr std::size_t kSlots = 4;
  static constexpr std::size_t kMaxRanks = transport::NodeSegment::kMaxRanks;
  using Word = std::atomic<std::uint64_t>;
  static_assert(Word::is_always_lock_free);

  // A call that a rank is in or was in. Each rank numbers its steps through
  // over the life of a board.
  struct Record {
    Word tag;
    Word kind_and_bytes;
    Word first;  // The number of its step 0.
  };
  // The words of one rank that others poll, in one cache line.
  struct alignas(kAlignment) Line {
    Word arrived;   // One more than the number of the last step.
    Word finished;  // Likewise.
    std::array<Record, 2> records;
  };
  // `steps` counts the steps of calls that the rank has ended. It has its own
  // half of a line: other ranks read it only if sets of members differ. The
  // other half changes rarely: whether the rank has withdrawn or is lost (for
  // good), whether it waits for others' ends, and its vote.
  struct alignas(kAlignment) Ended {
    Word steps;
    alignas(kAlignment / 2) Word withdrawn;
    Word lost;
    Word awaits_ends;
    Word vote;  // 0, or the packed label, odd when it stands.
  };

  Line& line(int rank) const;
  Ended& ended(int rank) const;
  void ring() const;
  // Whether `member` has arrived at `step` of the present call, or finished it.
  bool has_come(int member, Word Line::*counter, std::uint64_t step);
  // Rings, unless a missing member is awake: that member will ring.
  void ring_if_last(Word Line::*counter, std::uint64_t step);
  bool has_entered(int member);
  bool is_past(int member);
  absl::Status check_labels() const;
  bool have_all_entered();
  bool have_all_ended();
  absl::Status vote(const absl::Status& outcome,
                    transport::Interrupt& interrupt);
  absl::Status wait_for_ends(transport::Interrupt& interrupt);
  template <typename Ready>
  absl::Status wait(Ready ready, transport::Interrupt& interrupt);
  absl::Status wait_for_all(Word Line::*counter, std::uint64_t step,
                            transport::Interrupt& interrupt);

  transport::NodeSegment& segment_;
  const std::span<std::byte> region_;
  const ShmOptions options_;
  ShmCrossovers crossovers_;
  const transport::WaitPolicy waiting_;
  absl::Status failure_;

  // The present call.
  std::span<const int> members_;
  Label label_;
  std::uint64_t steps_ = 0;
  bool complete_ = false;      // All members have arrived.
  bool is_left_open_ = false;  // After arrive_and_look().
  bool is_resumed_ = false;
  std::size_t record_ = 0;  // This rank's record of the call, then all ranks'.
  std::array<const Record*, kMaxRanks> records_ = {};
  std::array<std::uint64_t, kMaxRanks> first_ = {};

  // The previous call: the members whose end is still to be seen, and the step
  // of that end.
  std::vector<int> leaving_;
  std::array<std::uint64_t, kMaxRanks> end_ = {};
};

}  // namespace hvd::collective
