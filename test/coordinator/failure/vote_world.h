// SPDX-License-Identifier: Apache-2.0
// A VoteWorld holds the votes of all ranks of a job and the letters in flight.
// A test decides which rank moves, dies or notices a death. The world is a
// value, so that a test can try every successor of a state.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/failure/survivor_vote.h"

namespace hvd::coordinator {

class VoteWorld {
 public:
  using Phase = SurvivorVote::Phase;

  // A possible event. `other` is the sender or the lost rank.
  struct Event {
    enum Kind { kBegin, kDeliver, kForget, kNotice, kSuspect, kEnter };
    Kind kind = kBegin;
    int rank = 0;
    int other = 0;
  };

  // All ranks notice a death for sure. With `silent_nodes`, only ranks of the
  // same node do. Other ranks hear from these, or suspect the death: when the
  // whole node is dead, or when no other event is possible.
  struct Options {
    int size = 3;
    int ranks_per_node = 64;
    bool silent_nodes = false;
  };

  explicit VoteWorld(const Options& options)
      : options_(options),
        alive_(index(options.size), true),
        noticed_(index(options.size)) {
    for (int rank = 0; rank < options.size; ++rank) {
      votes_.emplace_back(rank, options.size);
    }
    wires_.resize(index(options.size * options.size));
  }

  int size() const { return options_.size; }
  bool alive(int rank) const { return alive_[index(rank)]; }
  const SurvivorVote& vote(int rank) const { return votes_[index(rank)]; }

  // Letters of the dead in flight may arrive or not.
  void kill(int rank) { alive_[index(rank)] = false; }

  // `other` may live, or die later.
  void suspect(int rank, int other) {
    votes_[index(rank)].lost(other, Certainty::kSuspected);
    after(rank);
  }

  // The rank stays alive, but leaves the vote.
  void give_up(int rank) {
    votes_[index(rank)].stop(absl::DeadlineExceededError("gave up"));
    after(rank);
  }

  std::vector<Event> possible() const {
    std::vector<Event> events;
    for (int rank = 0; rank < size(); ++rank) {
      if (!alive(rank)) continue;
      const SurvivorVote& mine = vote(rank);
      const bool first = mine.members().epoch == SurvivorVote::kFirstEpoch;
      if (mine.phase() == Phase::kEntered && (first || mine.outdated())) {
        events.push_back({Event::kBegin, rank});
      }
      if (mine.phase() == Phase::kAgreed && all_ranks_are_there(mine)) {
        events.push_back({Event::kEnter, rank});
      }
      for (int other = 0; other < size(); ++other) {
        if (other == rank) continue;
        if (!wire(other, rank).empty()) {
          events.push_back({Event::kDeliver, rank, other});
          if (!alive(other)) events.push_back({Event::kForget, rank, other});
        }
        if (alive(other) || has_noticed(rank, other)) continue;
        if (sees(rank, other)) {
          events.push_back({Event::kNotice, rank, other});
        } else if (node_is_dead(other)) {
          events.push_back({Event::kSuspect, rank, other});
        }
      }
    }
    return events.empty() ? late_suspicions() : events;
  }

  void happen(const Event& event) {
    SurvivorVote& mine = votes_[index(event.rank)];
    switch (event.kind) {
      case Event::kBegin:
        mine.begin();
        break;
      case Event::kDeliver: {
        Wire& from = wire(event.other, event.rank);
        const std::string bytes = std::move(from.front());
        from.erase(from.begin());
        EXPECT_EQ(mine.receive(event.other, bytes), absl::OkStatus());
        break;
      }
      case Event::kForget:
        wire(event.other, event.rank).clear();
        break;
      case Event::kNotice:
        noticed_[index(event.rank)] |= 1u << event.other;
        mine.lost(event.other, Certainty::kCertain);
        break;
      case Event::kSuspect:
        noticed_[index(event.rank)] |= 1u << event.other;
        mine.lost(event.other, Certainty::kSuspected);
        break;
      case Event::kEnter:
        mine.entered();
        break;
    }
    after(event.rank);
  }

  // No event is possible: every living rank has stopped or entered one epoch,
  // whose members are exactly these ranks.
  void check_the_end() const {
    std::vector<int> running;
    for (int rank = 0; rank < size(); ++rank) {
      if (!alive(rank)) continue;
      ASSERT_TRUE(vote(rank).phase() == Phase::kEntered ||
                  vote(rank).phase() == Phase::kStopped)
          << "rank " << rank << " waits for ever";
      if (vote(rank).phase() == Phase::kEntered) running.push_back(rank);
    }
    for (int rank : running) {
      ASSERT_EQ(vote(rank).members().ranks, running) << "rank " << rank;
      ASSERT_EQ(vote(rank).members().epoch,
                vote(running.front()).members().epoch);
    }
  }

  std::vector<int> survivors() const {
    std::vector<int> ranks;
    for (int rank = 0; rank < size(); ++rank) {
      if (alive(rank) && vote(rank).phase() != Phase::kStopped) {
        ranks.push_back(rank);
      }
    }
    return ranks;
  }

  template <typename H>
  friend H AbslHashValue(H state, const VoteWorld& world) {
    for (const auto& wire : world.wires_) {
      state = H::combine(std::move(state), wire.size());
      for (const std::string& bytes : wire) {
        state = H::combine(std::move(state), bytes);
      }
    }
    for (const auto& [agreement, there] : world.agreements_) {
      state = H::combine(std::move(state), agreement);
      for (int rank : there) state = H::combine(std::move(state), rank);
      state = H::combine(std::move(state), -1);
    }
    return H::combine(std::move(state), world.votes_, world.alive_,
                      world.noticed_);
  }

 private:
  std::vector<Event> late_suspicions() const {
    std::vector<Event> events;
    for (int rank = 0; rank < size(); ++rank) {
      if (!alive(rank) || vote(rank).phase() == Phase::kStopped) continue;
      for (int other = 0; other < size(); ++other) {
        if (!alive(other) && !vote(rank).lost_ranks().counts_out(other)) {
          events.push_back({Event::kSuspect, rank, other});
        }
      }
    }
    return events;
  }

  using Wire = std::vector<std::string>;  // Cheap to copy while it is empty.
  // Epoch and members.
  using Agreement = std::pair<std::uint32_t, std::vector<int>>;

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  Wire& wire(int from, int to) { return wires_[index(from * size() + to)]; }
  const Wire& wire(int from, int to) const {
    return wires_[index(from * size() + to)];
  }
  int node(int rank) const { return rank / options_.ranks_per_node; }
  bool node_is_dead(int rank) const {
    for (int other = 0; other < size(); ++other) {
      if (node(other) == node(rank) && alive(other)) return false;
    }
    return true;
  }
  bool sees(int rank, int other) const {
    if (!options_.silent_nodes) return true;
    return node(rank) == node(other);
  }
  static Agreement agreement_of(const SurvivorVote& vote) {
    return {vote.members().epoch, vote.members().ranks};
  }
  bool has_noticed(int rank, int other) const {
    return (noticed_[index(rank)] >> other & 1u) != 0;
  }
  bool all_ranks_are_there(const SurvivorVote& vote) const {
    return agreements_.at(agreement_of(vote)).size() ==
           vote.members().ranks.size();
  }

  // Two agreements are disjoint, or the older one contains the newer one.
  void check_against_others(const Agreement& mine) const {
    for (const auto& [other, there] : agreements_) {
      std::vector<int> common;
      std::set_intersection(mine.second.begin(), mine.second.end(),
                            other.second.begin(), other.second.end(),
                            std::back_inserter(common));
      if (common.empty()) continue;
      const Agreement& older = mine.first < other.first ? mine : other;
      const Agreement& newer = mine.first < other.first ? other : mine;
      ASSERT_EQ(common, newer.second);
      ASSERT_NE(older.first, newer.first);
    }
  }

  // Sends a rank's letters, and records its agreement.
  void after(int rank) {
    SurvivorVote& mine = votes_[index(rank)];
    for (SurvivorVote::Letter& letter : mine.take_outgoing()) {
      wire(rank, letter.to).push_back(std::move(letter.bytes));
    }
    if (mine.phase() != Phase::kAgreed) return;
    const Agreement agreement = agreement_of(mine);
    if (!agreements_.contains(agreement)) check_against_others(agreement);
    agreements_[agreement].insert(rank);
  }

  Options options_;
  std::vector<SurvivorVote> votes_;
  std::vector<bool> alive_;
  std::vector<std::uint32_t> noticed_;             // One bit per noticed death.
  std::vector<Wire> wires_;                        // By sender and receiver.
  std::map<Agreement, std::set<int>> agreements_;  // With agreeing ranks.
};

}  // namespace hvd::coordinator
