// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/failure/survivor_vote.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {
namespace {

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

std::string named(const std::vector<int>& ranks) {
  return absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ",
                      absl::StrJoin(ranks, ", "));
}

}  // namespace

SurvivorVote::SurvivorVote(int rank, int size)
    : rank_(rank), size_(size), basis_(at(size)), reported_(at(size)) {
  std::iota(basis_.begin(), basis_.end(), 0);
}

SurvivorVote::Members SurvivorVote::members_of(
    const LostRanks& lost_ranks) const {
  Members members;
  members.epoch = kFirstEpoch + lost_ranks.restarts +
                  static_cast<std::uint32_t>(lost_ranks.count());
  for (int rank = 0; rank < size_; ++rank) {
    if (!lost_ranks.counts_out(rank)) members.ranks.push_back(rank);
  }
  return members;
}

// Restarts and losses only grow, so equal counts mean equal sets. Certainty
// does not matter, because membership is decided.
bool SurvivorVote::still_decided() const {
  return lost_ranks_.restarts == decided_.restarts &&
         lost_ranks_.count() == decided_.count();
}

bool SurvivorVote::outdated() const {
  return phase_ == Phase::kEntered && !still_decided();
}

void SurvivorVote::begin() {
  if (phase_ == Phase::kStopped) return;
  phase_ = Phase::kVoting;
  lost_ranks_.restarts = std::max(lost_ranks_.restarts, decided_.restarts + 1);
  send_to_all(/*asks=*/true);
  settle(/*has_changed=*/false);
}

void SurvivorVote::lost(int rank, Certainty certainty) {
  if (rank < 0 || rank >= size_ || rank == rank_) return;
  settle(lost_ranks_.add(rank, certainty));
}

absl::Status SurvivorVote::receive(int from, const std::string& bytes) {
  const std::string sender = absl::StrCat("rank ", from);
  if (from < 0 || from >= size_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a list of lost ranks from ", sender, " in a job of ", size_));
  }
  absl::StatusOr<LostRanksMessage> letter = decode_lost_ranks(bytes, size_);
  if (letter.ok() && letter->lost_ranks.counts_out(from)) {
    letter = absl::InvalidArgumentError(
        "a list of lost ranks that names its sender");
  }
  HVD_RETURN_IF_ERROR(annotate(letter.status(), sender));
  if (from == rank_ || lost_ranks_.knows_dead(from)) return absl::OkStatus();
  if (letter->leaves) {
    lost(from, Certainty::kCertain);
    return absl::OkStatus();
  }
  // Messages of a suspect do not count, but the suspect is told its state.
  if (lost_ranks_.counts_out(from) || phase_ == Phase::kStopped) {
    if (letter->asks) send(from, /*asks=*/false);
    return absl::OkStatus();
  }
  // No epoch can contain both ranks. The others' messages will show which
  // stays.
  if (letter->lost_ranks.counts_out(rank_)) {
    accusers_.push_back(from);
    lost(from, Certainty::kSuspected);
    return absl::OkStatus();
  }
  reported_[at(from)] = letter->lost_ranks;
  const bool has_changed = lost_ranks_.merge(letter->lost_ranks);
  settle(has_changed);
  if (letter->asks && !has_changed && votes()) send(from, /*asks=*/false);
  return absl::OkStatus();
}

void SurvivorVote::settle(bool has_changed) {
  if (!votes()) return;
  if (has_changed) send_to_all(/*asks=*/false);
  if (phase_ == Phase::kAgreed && still_decided()) return;
  phase_ = Phase::kVoting;
  if (!awaited().empty()) return;
  if (const absl::Status status = check_majority(); !status.ok()) {
    return stop(status);
  }
  decided_ = lost_ranks_;
  phase_ = Phase::kAgreed;
}

std::vector<int> SurvivorVote::awaited() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_ || lost_ranks_.counts_out(rank)) continue;
    if (reported_[at(rank)] != lost_ranks_) ranks.push_back(rank);
  }
  return ranks;
}

std::vector<int> SurvivorVote::silent() const {
  std::vector<int> ranks = awaited();
  std::erase_if(ranks, [&](int rank) {
    return reported_[at(rank)].restarts > basis_restarts_;
  });
  return ranks;
}

absl::Status SurvivorVote::check_majority() const {
  std::vector<int> suspects;
  std::size_t left = 0;
  for (int rank : basis_) {
    if (!lost_ranks_.counts_out(rank)) {
      ++left;
    } else if (!lost_ranks_.knows_dead(rank)) {
      suspects.push_back(rank);
    }
  }
  if (suspects.empty() || 2 * left > basis_.size()) return absl::OkStatus();
  std::string text = absl::StrCat(
      named(suspects), " did not answer and may be alive; the ", left, " of ",
      basis_.size(),
      " ranks that are left here are not a majority, so they stop");
  if (!accusers_.empty()) {
    absl::StrAppend(&text, " (", named(accusers_),
                    " would go on without this rank)");
  }
  return absl::AbortedError(text);
}

void SurvivorVote::entered() {
  if (phase_ != Phase::kAgreed) return;
  phase_ = Phase::kEntered;
  basis_ = members_of(decided_).ranks;
  basis_restarts_ = decided_.restarts;
}

void SurvivorVote::stop(const absl::Status& why) {
  if (phase_ == Phase::kStopped) return;
  phase_ = Phase::kStopped;
  verdict_ = why;
  send_to_all(/*asks=*/false);
}

void SurvivorVote::send(int to, bool asks) {
  outgoing_.push_back({to, encode({.lost_ranks = lost_ranks_,
                                   .asks = asks,
                                   .leaves = phase_ == Phase::kStopped},
                                  size_)});
}

// Suspects are told, too: a suspect that is alive should know.
void SurvivorVote::send_to_all(bool asks) {
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != rank_ && !lost_ranks_.knows_dead(rank)) send(rank, asks);
  }
}

std::vector<SurvivorVote::Letter> SurvivorVote::take_outgoing() {
  return std::exchange(outgoing_, {});
}

}  // namespace hvd::coordinator
