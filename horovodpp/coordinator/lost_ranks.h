// SPDX-License-Identifier: Apache-2.0
// LostRanks are what one rank of a broken job knows of who is lost, and how sure
// that is; it tells the others. What several ranks know adds up (merge()), and
// nothing is ever taken back, so after enough exchanges all know the same.
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
struct LostRanks {
  // How often survivors have begun anew: tells apart epochs of equal members.
  std::uint32_t restarts = 0;
  // Both ascending; no rank is in both.
  std::vector<int> dead = {};
  std::vector<int> suspected = {};

  bool operator==(const LostRanks&) const = default;

  bool counts_out(int rank) const;
  bool knows_dead(int rank) const;
  std::size_t count() const { return dead.size() + suspected.size(); }

  // Adds what `other` knows, or one loss; whether that was news.
  bool merge(const LostRanks& other);
  bool add(int rank, Certainty certainty);

  template <typename H>
  friend H AbslHashValue(H state, const LostRanks& lost_ranks) {
    return H::combine(std::move(state), lost_ranks.restarts, lost_ranks.dead,
                      lost_ranks.suspected);
  }
};

// They, on their way from one rank to another.
struct LostRanksMessage {
  LostRanks lost_ranks = {};
  bool asks = false;    // The sender has just begun and wants to be answered.
  bool leaves = false;  // The sender gives up; what it knows does not count.
};

// `size` is the number of ranks of the first epoch.
std::string encode(const LostRanksMessage& letter, int size);

// Never reads outside `bytes`, never allocates more than they hold.
//   InvalidArgument  these are not bytes that encode() makes for that size
absl::StatusOr<LostRanksMessage> decode_lost_ranks(const std::string& bytes,
                                                   int size);

}  // namespace hvd::coordinator
