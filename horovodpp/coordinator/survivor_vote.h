// SPDX-License-Identifier: Apache-2.0
// A SurvivorVote is how one rank agrees with the others on who is left after
// some have died, and so on the members of the next epoch. A pure state
// machine: losses and letters in, letters and a phase out; no thread, no clock.
//
//   vote.begin();                               // This rank's epoch is broken.
//   loop until vote.phase() != kVoting:
//     vote.lost(rank, Certainty::kCertain);     // What this rank notices,
//     vote.receive(from, bytes);                // what it is told,
//     for (auto& letter : vote.take_outgoing()) // and what it tells.
//       send(letter.to, letter.bytes);
//   if kAgreed: start the epoch `vote.members()`, then vote.entered();
//
// Every rank keeps the set of the lost that it knows of, tells everybody
// whenever it grows, and adds what it hears (flooding). It has agreed when all
// that it believes alive have told exactly its own set.
//
// Why decisions do not diverge: what a rank tells only grows. Two sets that
// were agreed on have a rank in common that has told both, so one contains the
// other. Where there is no common rank, one group is dead, or both suspect each
// other; then at most one is a strict majority of the last epoch, and the other
// one stops.
//
// A rank may die after one rank has agreed and before another has. So an
// agreement is not final: an epoch is entered when all its members have said in
// it that they are there. If one dies before, the others learn of it, here, and
// are back in the vote with a larger set. Some may have entered already; their
// new epoch is broken by the same death, and their next begin() joins the same
// vote, because LostRanks are numbered as in the first epoch. The epoch's number is 1 + restarts + lost: both only grow, so no two
// agreements with a rank in common share it.
//
// Every begin() asks for answers, so a letter that came before it may be lost.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/coordinator/lost_ranks.h"

namespace hvd::coordinator {

class SurvivorVote {
 public:
  static constexpr std::uint32_t kFirstEpoch = 1;

  enum class Phase {
    kEntered,  // An epoch runs, the first one to begin with.
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

  // `rank` of the `size` ranks of the first epoch.
  SurvivorVote(int rank, int size);

  // This rank's epoch is broken, or what was agreed on did not start for a
  // reason that is no loss: asks the others to agree anew.
  void begin();

  // `rank` is lost. A suspicion that turns out true may be said again.
  void lost(int rank, Certainty certainty);

  // A letter of another rank's vote.
  //   InvalidArgument  it cannot be read; nothing has changed
  absl::Status receive(int from, const std::string& bytes);

  // The epoch agreed on is running.
  void entered();

  // This rank gives up, and tells the others not to wait for it. `why` becomes
  // the verdict unless there is one.
  void stop(const absl::Status& why);

  Phase phase() const { return phase_; }
  absl::Status verdict() const { return verdict_; }

  // Those of the epoch agreed on, or else of the one entered last.
  Members members() const { return members_of(decided_); }

  // An epoch runs here, but others know of a loss in it, or begin anew.
  bool outdated() const;

  // Whom the vote is waiting for: believed alive, but not of the same opinion.
  std::vector<int> awaited() const;

  // Who of them has not been heard of since the last epoch.
  std::vector<int> silent() const;

  const LostRanks& lost_ranks() const { return lost_ranks_; }

  // What to send, in this order per receiver.
  std::vector<Letter> take_outgoing();

  // Votes that hash alike behave alike; for tests that explore them all.
  template <typename H>
  friend H AbslHashValue(H state, const SurvivorVote& vote) {
    return H::combine(std::move(state), vote.phase_, vote.lost_ranks_,
                      vote.decided_, vote.basis_, vote.basis_restarts_,
                      vote.told_);
  }

 private:
  bool votes() const {
    return phase_ == Phase::kVoting || phase_ == Phase::kAgreed;
  }
  Members members_of(const LostRanks& lost_ranks) const;
  // Whether what is known is still what was decided on.
  bool still_decided() const;
  void tell(int to, bool asks);
  void tell_everybody(bool asks);
  // Draws the conclusions of an event that was `news`.
  void settle(bool news);
  absl::Status check_majority() const;

  const int rank_;
  const int size_;
  Phase phase_ = Phase::kEntered;
  LostRanks lost_ranks_;
  LostRanks decided_;                 // What was agreed on last, or entered.
  std::vector<int> basis_;            // Members of the epoch entered last,
  std::uint32_t basis_restarts_ = 0;  // and its number of restarts.
  // By rank, its last word; who has not spoken has no restarts, which no vote
  // has.
  std::vector<LostRanks> told_;
  std::vector<int> accusers_;  // Who believes this rank lost.
  absl::Status verdict_;
  std::vector<Letter> outgoing_;
};

}  // namespace hvd::coordinator
