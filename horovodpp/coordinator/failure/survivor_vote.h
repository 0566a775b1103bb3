// SPDX-License-Identifier: Apache-2.0
// A SurvivorVote is one rank's part in agreeing on the surviving ranks, and so
// on the members of the next epoch. A pure state machine: losses and letters
// in, letters and a phase out; no thread, no clock.
//
//   vote.begin();                               // This rank's epoch is broken.
//   loop until vote.phase() != kVoting:
//     vote.lost(rank, Certainty::kCertain);     // A loss noticed here.
//     vote.receive(from, bytes);                // Letters received,
//     for (auto& letter : vote.take_outgoing()) // and letters to send.
//       send(letter.to, letter.bytes);
//   if kAgreed: start the epoch `vote.members()`, then vote.entered();
//
// Every rank keeps the set of lost ranks that it knows, sends the set to all
// others whenever it grows, and adds received sets (flooding). A rank has
// agreed when all ranks that it believes alive have sent exactly its own set.
//
// Decisions do not diverge, because the sets that a rank sends only grow. If
// two agreed sets have a rank in common, that rank has sent both, so one
// contains the other. Without a common rank, one group is dead, or both suspect
// each other. Then at most one is a strict majority of the last epoch, and the
// other stops.
//
// A rank may die after one rank has agreed and before another has. So an
// agreement is not final: an epoch is entered when all its members have
// reported in the epoch. If a member dies before that, the others learn of the
// death here and vote again with a larger set. Ranks that have already entered
// see their new epoch break by the same death. Their next begin() joins the
// same vote, because LostRanks use the numbers of the first epoch. The epoch's
// number is 1 + restarts + lost. Both only grow, so no two agreements with a
// rank in common share it.
//
// Every begin() asks for answers, so letters from before it may be lost.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/coordinator/failure/lost_ranks.h"

namespace hvd::coordinator {

class SurvivorVote {
 public:
  static constexpr std::uint32_t kFirstEpoch = 1;

  enum class Phase {
    kEntered,  // An epoch runs (initially the first).
    kVoting,
    kAgreed,  // members() may start; a loss leads back to kVoting.
    kStopped  // This rank cannot go on; verdict() says why.
  };
  struct Members {
    std::uint32_t epoch = kFirstEpoch;
    std::vector<int> ranks = {};  // Ascending.
  };
  struct Letter {
    int to = 0;
    std::string bytes;
  };

  // For `rank` of the `size` ranks of the first epoch.
  SurvivorVote(int rank, int size);

  // This rank's epoch is broken, or the agreed epoch did not start for a reason
  // other than a loss. Asks the others to agree again.
  void begin();

  // `rank` is lost. May be called again when a suspicion becomes certain.
  void lost(int rank, Certainty certainty);

  // Takes a letter of another rank's vote.
  //   InvalidArgument  it cannot be decoded; nothing has changed
  absl::Status receive(int from, const std::string& bytes);

  // The agreed epoch is running.
  void entered();

  // This rank gives up and tells the others not to wait for it. `why` becomes
  // the verdict unless one exists.
  void stop(const absl::Status& why);

  Phase phase() const { return phase_; }
  absl::Status verdict() const { return verdict_; }

  // Members of the agreed epoch, or else of the last epoch entered.
  Members members() const { return members_of(decided_); }

  // Whether an epoch runs here while other ranks report a loss in it or
  // restart.
  bool outdated() const;

  // Ranks that the vote waits for: believed alive, with a different set.
  std::vector<int> awaited() const;

  // The awaited ranks that have been silent since the last epoch.
  std::vector<int> silent() const;

  const LostRanks& lost_ranks() const { return lost_ranks_; }

  // Letters to send, ordered per receiver.
  std::vector<Letter> take_outgoing();

  // Votes with equal hashes behave alike; for tests that explore all states.
  template <typename H>
  friend H AbslHashValue(H state, const SurvivorVote& vote) {
    return H::combine(std::move(state), vote.phase_, vote.lost_ranks_,
                      vote.decided_, vote.basis_, vote.basis_restarts_,
                      vote.reported_);
  }

 private:
  bool votes() const {
    return phase_ == Phase::kVoting || phase_ == Phase::kAgreed;
  }
  Members members_of(const LostRanks& lost_ranks) const;
  // Whether no loss has become known since the decision.
  bool still_decided() const;
  void send(int to, bool asks);
  void send_to_all(bool asks);
  // Re-evaluates after an event; `news`: the event changed the known losses.
  void settle(bool has_changed);
  absl::Status check_majority() const;

  const int rank_;
  const int size_;
  Phase phase_ = Phase::kEntered;
  LostRanks lost_ranks_;
  LostRanks decided_;                 // As agreed or entered last.
  std::vector<int> basis_;            // Members of the last epoch entered,
  std::uint32_t basis_restarts_ = 0;  // and its number of restarts.
  // The last letter of each rank. Ranks not heard from have 0 restarts, which
  // no vote has.
  std::vector<LostRanks> reported_;
  std::vector<int> accusers_;  // Ranks that believe this rank is lost.
  absl::Status verdict_;
  std::vector<Letter> outgoing_;
};

}  // namespace hvd::coordinator
