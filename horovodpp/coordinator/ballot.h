// SPDX-License-Identifier: Apache-2.0
// A Ballot is what one rank of a broken job tells the others: who, as far as it
// knows, is lost, and how sure that is. What several ranks know adds up
// (merge()), and nothing is ever taken back, so ballots that are exchanged for
// long enough become equal.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace hvd::coordinator {

enum class Certainty : std::uint8_t {
  kSuspected,  // Silent for too long; it may be alive behind a broken link.
  kCertain     // Dead, by the word of its own node, or gone by its own.
};

// Ranks are those of the first epoch, in every epoch.
struct Ballot {
  // How often survivors have begun anew: tells apart epochs of equal members.
  std::uint32_t restarts = 0;
  // Both ascending; no rank is in both.
  std::vector<int> dead = {};
  std::vector<int> suspected = {};

  bool operator==(const Ballot&) const = default;

  bool counts_out(int rank) const;
  bool knows_dead(int rank) const;
  std::size_t lost() const { return dead.size() + suspected.size(); }

  // Adds what `other` knows, or one loss; whether that was news.
  bool merge(const Ballot& other);
  bool add(int rank, Certainty certainty);

  template <typename H>
  friend H AbslHashValue(H state, const Ballot& ballot) {
    return H::combine(std::move(state), ballot.restarts, ballot.dead,
                      ballot.suspected);
  }
};

// A ballot on its way from one rank to another.
struct BallotLetter {
  Ballot ballot = {};
  bool asks = false;    // The sender has just begun and wants to be answered.
  bool leaves = false;  // The sender gives up; its ballot does not count.
};

// `size` is the number of ranks of the first epoch.
std::string encode(const BallotLetter& letter, int size);

// Never reads outside `bytes`, never allocates more than they hold.
//   InvalidArgument  these are not bytes that encode() makes for that size
absl::StatusOr<BallotLetter> decode_ballot(const std::string& bytes, int size);

}  // namespace hvd::coordinator
