// SPDX-License-Identifier: Apache-2.0
// LostRanks is one rank's knowledge, in a broken job, of which ranks are lost
// and how certainly. Ranks send it to each other and combine it with merge().
// Entries are never removed, so after enough exchanges all ranks know the same.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace hvd::coordinator {

enum class Certainty : std::uint8_t {
  // Silent beyond the timeout, but possibly alive behind a broken link.
  kSuspected,
  kCertain  // Dead, as its own node reports, or the rank itself says it leaves.
};

// Rank numbers are of the first epoch, in every epoch.
struct LostRanks {
  // Number of restarts by survivors: tells apart epochs with equal members.
  std::uint32_t restarts = 0;
  // Both ascending and disjoint.
  std::vector<int> dead = {};
  std::vector<int> suspected = {};

  bool operator==(const LostRanks&) const = default;

  bool counts_out(int rank) const;
  bool knows_dead(int rank) const;
  std::size_t count() const { return dead.size() + suspected.size(); }

  // Adds the knowledge of `other`, or one loss. Returns whether that was news.
  bool merge(const LostRanks& other);
  bool add(int rank, Certainty certainty);

  template <typename H>
  friend H AbslHashValue(H state, const LostRanks& lost_ranks) {
    return H::combine(std::move(state), lost_ranks.restarts, lost_ranks.dead,
                      lost_ranks.suspected);
  }
};

// LostRanks as sent from one rank to another.
struct LostRanksMessage {
  LostRanks lost_ranks = {};
  bool asks = false;    // The sender has just begun and wants an answer.
  bool leaves = false;  // The sender gives up; its knowledge does not count.
};

// `size` is the number of ranks in the first epoch.
std::string encode(const LostRanksMessage& letter, int size);

// Never reads outside `bytes`, never allocates more than they hold.
//   InvalidArgument  `bytes` is not an encode() result for that size
absl::StatusOr<LostRanksMessage> decode_lost_ranks(const std::string& bytes,
                                                   int size);

}  // namespace hvd::coordinator
