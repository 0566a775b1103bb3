// SPDX-License-Identifier: Apache-2.0
// A GradientLedger is the bookkeeping of an optimizer's gradients, step after
// step. It counts contributions, and knows which gradients are complete, wait
// for a group or bucket, were sent, or have a late part. It holds no tensors
// and sends nothing. Gradients are indices, and the caller acts on the results:
//
//   GradientLedger ledger;
//   const std::size_t weight = ledger.enter("fc1.weight");
//   if (ledger.count(weight) == ContributionState::kComplete &&
//       ledger.complete(weight, bytes) == Due::kItself) {
//     send(weight);
//     ledger.mark_sent(weight);
//   }
//   ...
//   ledger.reset();  // The next step.
//
// A gradient's way through a step:
//
//   open --complete()--> complete, grouped or held --mark_sent()--> sent
//
// GradientReducer uses it for C++, C and libtorch, Reduction for PyTorch.
//
// Not thread-safe: the reducer has a lock, Python its own.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace replica {

// The state of a gradient that got a contribution.
enum class ContributionState : std::int8_t {
  kMore,      // Others are to come, or the gradient waits for its group.
  kComplete,  // It was the last; call complete().
  kHeld,      // The gradient waits for its bucket.
  kLate,      // The gradient was sent before.
};

// The gradients to send now.
enum class Due : std::int8_t {
  kNothing,  // The gradient waits for its group.
  kItself,
  kGroup,   // take_group().
  kHeld,    // None: the gradient waits for its bucket.
  kBucket,  // release(), which includes the gradient; each by itself.
};

// The best `bucket_bytes` of a ledger on a node with `local_ranks` of all
// `ranks`, where each rank computes with `threads` threads. 0 if a core is free
// to overlap reductions with backward.
std::size_t bucket_bytes_for(int local_ranks, int ranks, int threads);

class GradientLedger {
 public:
  // Gradients that may wait do so until they have `bucket_bytes` together, or
  // until the step. 0: none does.
  explicit GradientLedger(std::size_t bucket_bytes = 0)
      : bucket_bytes_(bucket_bytes) {}

  // --- The gradients ---

  // Returns the index of a new gradient. Errors cite `name`.
  std::size_t enter(std::string name);
  const std::string& name(std::size_t i) const { return records_[i].name; }
  // The number of contributions in a step, of one gradient, or of all and those
  // to be entered; initially 1.
  //   hvd::Error (InvalidArgument)  it is less than 1
  void expect(std::size_t i, int contributions);
  void expect_of_all(int contributions);

  // Adds a group: its gradients are sent together once all are complete.
  // Returns the number of the group.
  //   hvd::Error (InvalidArgument)  a gradient is in two groups
  std::size_t add_group(const std::vector<std::size_t>& members);
  // Whether the gradient's group, if any, waits for it and is sent with it;
  // initially it does.
  void set_in_group(std::size_t i, bool is_in_group);

  // --- Contributions ---

  // Whether a contribution is surplus: the gradient was sent or is held, and no
  // part was put aside before. (Unless the engine delivers it in several
  // parts.)
  bool is_taken(std::size_t i) const {
    return records_[i].state >= State::kHeld && !records_[i].is_late;
  }
  // The number of contributions still to come; 0 once the gradient is complete.
  int owed(std::size_t i) const;
  ContributionState count(std::size_t i);
  // Counts a contribution; returns whether it was the last.
  //   hvd::Error (FailedPrecondition)  none is owed; says of how many
  bool contribute(std::size_t i);
  // Forgets the contributions so far, to all gradients.
  void forget_contributions();

  // --- Late parts ---
  // An engine may deliver a contribution in several parts without saying which
  // one is the last, as PyTorch's does for reentrant checkpoints. The ledger
  // learns their number from the step before.

  // A part is about to come to a gradient that is_taken(). Returns whether the
  // gradient was sent, so that later parts need other memory.
  bool expect_late_part(std::size_t i);
  // Whether the gradient, or its group, was completed within another backward
  // pass.
  bool is_nested(std::size_t i) const { return records_[i].is_nested; }
  // At the end of a step: the number of parts in a contribution.
  void learn_parts();
  int parts(std::size_t i) const { return records_[i].parts; }

  // --- Sending ---

  // The gradient is complete, or no further part will come. `bytes` is its
  // size, nullopt if it may not wait for a bucket.
  Due complete(std::size_t i, std::optional<std::size_t> bytes,
               bool is_nested = false);
  // Returns the complete gradients of the group, in its order, for sending.
  std::size_t group_of(std::size_t i) const { return *records_[i].group; }
  std::vector<std::size_t> take_group(std::size_t group);
  // The groups with complete gradients that were not taken.
  std::vector<std::size_t> waiting_groups() const;
  // Returns the held gradients, in the order of completion, for sending.
  std::vector<std::size_t> release();
  bool holds_any() const { return !held_.empty(); }
  void mark_sent(std::size_t i) {
    add(i);
    records_[i].state = State::kSent;
  }

  // --- The end of a step ---

  // This rank's knowledge of `gradients`. The ranks take the maximum of each
  // byte, and pass it to agree(). `exist` has a 0 for each missing gradient; it
  // is empty if missing gradients are sent as zeros.
  std::vector<std::uint8_t> facts(const std::vector<std::size_t>& gradients,
                                  const std::vector<std::uint8_t>& exist) const;
  struct Agreement {
    std::vector<std::size_t> late = {};  // Has a late part on some rank.
    bool all_held = false;  // Every rank holds all that is complete.
  };
  // Afterwards rest() leaves out gradients that exist on no rank.
  Agreement agree(const std::vector<std::size_t>& gradients,
                  const std::vector<std::uint8_t>& facts);
  // The `gradients` that were neither sent nor wait.
  std::vector<std::size_t> rest(
      const std::vector<std::size_t>& gradients) const;

  // Whether complete() was called in this step.
  bool is_added(std::size_t i) const {
    return records_[i].state != State::kOpen;
  }
  bool is_pending() const { return !added_.empty(); }
  // Takes the complete gradients in the order of completion; with `sent_only`
  // those that were sent. Forgets contributions to the others.
  std::vector<std::size_t> take(bool sent_only);
  // Opens a taken gradient for the next step.
  void renew(std::size_t i);
  // Both, for all gradients.
  void reset() {
    for (const std::size_t i : take(/*sent_only=*/false)) renew(i);
  }

 private:
  enum class State : std::int8_t { kOpen, kComplete, kGrouped, kHeld, kSent };
  struct Record {
    std::string name;
    int expected = 1;
    int parts = 1;  // Of each contribution.
    int came = 0;
    State state = State::kOpen;
    bool is_late = false;
    bool is_nested = false;
    bool is_unused = false;  // By all ranks, in this step.
    bool is_in_group = true;
    std::optional<std::size_t> group = std::nullopt;
  };
  struct Group {
    std::vector<std::size_t> members;
    std::size_t awaited = 0;  // Members that are in the group now.
    std::size_t complete = 0;
    bool is_taken = false;
    bool is_nested = false;  // As the member that was completed last.
  };

  void add(std::size_t i) {
    if (!is_added(i)) added_.push_back(i);
  }
  bool waits_in_group(const Record& record) const {
    return record.state == State::kGrouped && !groups_[*record.group].is_taken;
  }

  const std::size_t bucket_bytes_;
  int expected_ = 1;
  std::vector<Record> records_;
  std::vector<Group> groups_;
  std::vector<std::size_t> added_;  // In the order of completion.
  std::vector<std::size_t> held_;   // Likewise.
  std::size_t held_bytes_ = 0;
};

}  // namespace replica
}  // namespace hvd
