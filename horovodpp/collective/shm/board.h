// SPDX-License-Identifier: Apache-2.0
// A ShmBoard is one rank's view of the memory through which the ranks of a node
// show each other data: slots, and the counters that say what may be read. It
// serves calls between any of them, one after the other: the ShmPlanes of a
// rank share its board, and the boards of all ranks share one region.
//
//   board.begin(members, label);
//   fill(board.mine());
//   board.arrive();                             // step 0
//   HVD_RETURN_IF_ERROR(board.wait_for_arrivals(0, interrupt));
//   use(board.slot(peer, 0));
//   board.end();
//
// A call takes place in steps. In a step every member fills its slot and
// arrives; once all have arrived, all may read all slots, and each may
// overwrite the parts of any slot that nobody else reads with results; once all
// have finished, all may read the results.
//
// A rank has four slots, used in turn, and announces its two latest calls in two
// records. These rules make them enough:
//   1. A rank arrives at a step only after it has seen all members arrive at
//      the step before.
//   2. When it arrives at step s it no longer reads the slots of step s - 3, or
//      of any before, nor writes to those of others.
//   3. After the first step of a call, before anything else, it waits until all
//      members of its previous call have ended that.
// So nothing is overwritten that somebody reads:
//   - Before a rank fills the slot of step s it has seen all arrive at s - 1,
//     so nobody uses that of s - 4, which lies in the same place. Let s be the
//     first step of a call: it has seen the members of its previous call arrive
//     at the last step of that, or, if s - 4 belongs to a call further back,
//     has seen the members of that call end it (3). Let s be the second step:
//     by then (3) holds for the previous call too.
//   - A record is overwritten by the call after the next; (3) was kept in
//     between, so no member of the old call looks for it any more.
// And nobody waits for ever, even if sets of members overlap, provided that all
// ranks make their calls in one order: a rank in a call waits for members to enter
// or continue that call (1), or to end an earlier one (3). Of all calls in which
// some rank is stuck take the earliest. All its members get as far as to enter it;
// what they wait for by (3) is earlier still, and so comes to its end; then they
// all take its steps.
//
// A call that was given up in its first step, because a member never enters it,
// has been read by nobody: that member has not arrived. The next call takes its
// place, record and slot included. Members that still wait in the old call no
// longer find its tag, or see an arrival while another one is still missing.
//
// If the interrupt may say Cancelled although all members of the board have arrived,
// some members would give the call up and others would not. So they vote. A member
// that hears Cancelled casts a vote against the call, in a word of its own, then
// looks for all arrivals once more, and takes the vote back if all are there. A
// member that has seen all arrive looks at the votes, and waits for those that are
// not settled. A vote that stands was cast before the arrival that its member
// missed: so every member that sees all arrive also sees that vote, and none goes
// on. If nobody votes, or all votes are taken back, all go on, and ignore Cancelled
// until the call is over. A vote that stands may be replaced by one on a later call,
// between other members; but by then the record of that call is in the place of this
// call's record.
//
// Members may also write into each other's memory, between arrival and finish().
// A member that gives such a call up has to be sure that nobody writes any more: it
// withdraws. A member that has seen all arrive checks that nobody has withdrawn
// before it writes. So if a member that withdraws then sees that not all have
// arrived, nobody is going to write; and if all have, it can wait for those that do.
//
// Memory that starts as zeros is a board on which nobody has been yet. Not
// thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/shm/options.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/node_segment.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

class ShmBoard {
 public:
  static constexpr std::size_t kAlignment = 128;

  // What a rank is in: equal on all members.
  struct Label {
    transport::DataTag tag;
    char kind = 0;            // Of the collective, as in kind_name().
    std::uint64_t bytes = 0;  // Below 2^56.
    // Two calls may have one tag: this one is the first or the second of them.
    bool second = false;
    // The interrupt may say Cancelled because of ranks beyond this board: the members
    // vote on whether all of them give the call up.
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
  // least bytes_needed(), in the same place and with equal options on all ranks
  // (if it is too small or out of line, every call fails with InvalidArgument).
  // The segment outlives the board.
  ShmBoard(transport::NodeSegment& segment, std::span<std::byte> region,
           const transport::WaitPolicy& waiting,
           const ShmOptions& options = {});

  int rank() const { return segment_.local_rank(); }
  int ranks() const { return segment_.local_size(); }
  const ShmOptions& options() const { return options_; }

  // Which algorithms calls use: at first the options' small_bytes, and whole slots.
  // To be changed between calls, to the same values on all ranks; both are at most
  // a slot, and steps are aligned like a slot.
  const ShmCrossovers& crossovers() const { return crossovers_; }
  void set_crossovers(const ShmCrossovers& values) { crossovers_ = values; }

  // Begins a call between `members`, local ranks, this one among them; they are
  // borrowed until it is over. Sequence numbers may wrap: a tag may come again
  // once every member has made two other calls.
  // After an arrive_and_look() that was in vain a call of that label goes on with it:
  // see take_resumed().
  //   the reason  why the board cannot be used any more
  absl::Status begin(std::span<const int> members, const Label& label);

  // Whether this call was begun before, and this rank has arrived at step 0. Once.
  bool take_resumed() { return std::exchange(is_resumed_, false); }

  // How often this rank has arrived in the call, which is the step it is to
  // arrive at next, and its slot there.
  std::uint64_t steps() const { return steps_; }
  std::byte* mine() const { return slot(rank(), steps_); }

  // Says that mine() is filled.
  void arrive();

  // The same at step 0 of a call without a vote, and some looks at the others:
  // whether all are there, and what wait_for_arrivals(0) waits for is so. If not,
  // this call may be begun again.
  bool arrive_and_look();

  // Waits until all members have arrived at `step`; or returns the interrupt's
  // error. In step 0 the two other rules' conditions are waited for as well. In
  // a call with a vote, from then on Cancelled is not listened to.
  //   Internal  a member is in another call, or calls it by another label;
  //             names both
  absl::Status wait_for_arrivals(std::uint64_t step,
                                 transport::Interrupt& interrupt);

  // What `member` put into its slot; after wait_for_arrivals(step).
  std::byte* slot(int member, std::uint64_t step) const;

  // Says that this rank's result of `step` is in its slot.
  void finish(std::uint64_t step);
  // Waits until all members have said so; or returns the interrupt's error.
  absl::Status wait_for_results(std::uint64_t step,
                                transport::Interrupt& interrupt);

  // After wait_for_arrivals(step): OK if this rank may now write into the
  // memory of the others, until it finishes.
  //   Aborted  a member has given the call up; names it
  absl::Status check_nobody_withdrew() const;

  // This rank's wait for arrivals at `step`, or for its results, failed; others
  // may write into its memory. Returns once nobody does, or, as a member that
  // died never finishes, after a quarter of a second.
  void withdraw(std::uint64_t step);

  // Ends the call: this rank has arrived at its last step, and reads nothing of
  // it any more.
  void end();

  // Ends a call that has failed, and returns its error. After Cancelled, before
  // all members had arrived at step 0, the board stays usable.
  absl::Status give_up(const absl::Status& why);

 private:
  static constexpr std::size_t kSlots = 4;
  static constexpr std::size_t kMaxRanks = transport::NodeSegment::kMaxRanks;
  using Word = std::atomic<std::uint64_t>;
  static_assert(Word::is_always_lock_free);

  // A call that a rank is in or was in. Steps are numbered through over the
  // life of a board, each rank's for itself.
  struct Record {
    Word tag;
    Word kind_and_bytes;
    Word first;  // The number of its step 0.
  };
  // One rank's words: what others poll, in one cache line.
  struct alignas(kAlignment) Line {
    Word arrived;   // One more than the number of the last step.
    Word finished;  // Likewise.
    std::array<Record, 2> records;
  };
  // How many steps belong to calls that the rank has ended. Apart, as nobody
  // looks at it unless sets of members differ. And what hardly changes: whether it
  // has withdrawn, for good, whether it waits for others' ends, and its vote.
  struct alignas(kAlignment) Ended {
    Word steps;
    alignas(kAlignment / 2) Word withdrawn;
    Word awaits_ends;
    Word vote;  // 0, or the packed label, odd when it stands.
  };

  Line& line(int rank) const;
  Ended& ended(int rank) const;
  void ring() const;
  // Whether `member` has arrived at `step` of the call at hand, or finished it.
  bool has_come(int member, Word Line::*counter, std::uint64_t step);
  // Rings, unless a member is awake that has not come yet, and so will ring.
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

  // The call at hand.
  std::span<const int> members_;
  Label label_;
  std::uint64_t steps_ = 0;
  bool complete_ = false;      // All members have arrived.
  bool is_left_open_ = false;  // After arrive_and_look().
  bool is_resumed_ = false;
  std::size_t record_ = 0;  // This rank's record of it; and everybody's:
  std::array<const Record*, kMaxRanks> records_ = {};
  std::array<std::uint64_t, kMaxRanks> first_ = {};

  // The previous call: whose end is still to be seen, and at which step.
  std::vector<int> leaving_;
  std::array<std::uint64_t, kMaxRanks> end_ = {};
};

}  // namespace hvd::collective
