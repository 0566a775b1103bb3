// SPDX-License-Identifier: Apache-2.0
// A Program is what the callers of a job do, rank by rank and thread by thread,
// and what the outcome of each of their submissions has to be.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "horovodpp/coordinator/coordinator.h"

namespace hvd::simulation {

// Outcomes that an oracle allows, as a set of bits.
enum Outcome : unsigned {
  kDone = 1,
  kMismatch = 2,   // InvalidArgument, the same text on all ranks.
  kCancelled = 4,  // By a leaving rank, or with its process set.
  kRefused = 8,    // AlreadyExists: there is such a process set.
  kBroken = 16,    // The job was broken.
};

std::string describe_outcomes(unsigned outcomes);

// One collective operation, submitted by the ranks that take part in it.
struct Item {
  coordinator::Request request = {};
  // What single ranks submit instead.
  std::map<int, coordinator::Request> instead = {};
  std::vector<int> ranks = {};
  int set = 0;    // Index in Program::sets; the key's number follows from it.
  int adds = -1;  // The set that it adds,
  int removes = -1;  // or removes.
  unsigned allowed = kDone;
  // Join: the rank that must be the last; -1 where it depends.
  int last = -1;
  // Not submitted by all members that have not joined.
  bool incomplete = false;

  const coordinator::Request& request_of(int rank) const {
    const auto other = instead.find(rank);
    return other == instead.end() ? request : other->second;
  }
};

struct Action {
  enum class Kind : std::uint8_t {
    kSubmit,  // `item`
    kWait,    // until `item` has an outcome
    kMeet,    // until all threads of this rank are here
    kLeave,
  };
  Kind kind = Kind::kSubmit;
  int item = 0;

  friend bool operator==(const Action&, const Action&) = default;
};

// A rank that stops for ever.
struct Death {
  int rank = 0;
  int turn = 0;              // In which of its turns,
  bool mid_sending = false;  // and whether with some of its mail unsent.
};

// How long things take, on average.
struct Pace {
  std::chrono::nanoseconds mail{1000};
  std::chrono::nanoseconds turn{100};
  std::chrono::nanoseconds caller{100};
  std::chrono::nanoseconds observe{100};  // That a batch is complete.
  int slow_rank = -1;                     // Twenty times slower.
};

struct Program {
  std::uint64_t seed = 0;
  std::vector<std::vector<int>> nodes;
  coordinator::Coordinator::Options options;  // But for rank and tree.
  // Members of each set that exists at some time; set 0 is the job.
  std::vector<std::vector<int>> sets;
  int static_sets = 1;  // So many of them from the start.
  std::vector<Item> items;
  // By rank and thread.
  std::vector<std::vector<std::vector<Action>>> threads;
  std::vector<Death> deaths;
  Pace pace;
  // Records of the schedule that a rank may have before it when its leader
  // appends more.
  std::uint32_t most_unread = 1u << 20;
  // Ranks move only when something wakes them; else they look again and again.
  bool sleepy = true;
  // A turn is one event; else its parts are.
  bool atomic_turns = false;
  // Operations without data wait for all members like those with.
  bool strict_executor = false;
  // The job ends by its own decision: it stalls.
  bool stalls = false;

  int size() const { return static_cast<int>(threads.size()); }
  bool breaks() const { return !deaths.empty() || stalls; }

  // For a person.
  std::string describe() const;
};

}  // namespace hvd::simulation
