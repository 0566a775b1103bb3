// SPDX-License-Identifier: Apache-2.0
// A Program lists the actions of a job's callers by rank and thread, and the
// required outcome of each submission.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "horovodpp/coordinator/coordinator.h"

namespace hvd::simulation {

// The outcomes that an oracle allows, as a set of bits.
enum Outcome : unsigned {
  kDone = 1,
  kMismatch = 2,   // InvalidArgument, the same text on all ranks.
  kCancelled = 4,  // By a leaving rank, or with its process set.
  kRefused = 8,    // AlreadyExists: the process set exists.
  kBroken = 16,    // The job was broken.
};

std::string describe_outcomes(unsigned outcomes);

// One collective operation, submitted by the ranks that take part in it.
struct Item {
  coordinator::Request request = {};
  // Requests of ranks that submit a different one.
  std::map<int, coordinator::Request> instead = {};
  std::vector<int> ranks = {};
  int set = 0;       // Index in Program::sets, which determines the key's id.
  int adds = -1;     // The set that it adds.
  int removes = -1;  // The set that it removes.
  unsigned allowed = kDone;
  // Join: the rank that must be last; -1 if any may be.
  int last = -1;
  // Some members that have not joined do not submit it.
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

// A rank that stops forever.
struct Death {
  int rank = 0;
  int turn = 0;              // The turn in which it dies.
  bool mid_sending = false;  // Whether some of its mail is unsent.
};

// Average durations.
struct Pace {
  std::chrono::nanoseconds mail{1000};
  std::chrono::nanoseconds turn{100};
  std::chrono::nanoseconds caller{100};
  std::chrono::nanoseconds observe{100};  // Noticing that a batch is complete.
  int slow_rank = -1;                     // Twenty times slower.
};

struct Program {
  std::uint64_t seed = 0;
  std::vector<std::vector<int>> nodes;
  coordinator::Coordinator::Options options;  // Except rank and tree.
  // The members of each set that exists at some time; set 0 is the job.
  std::vector<std::vector<int>> sets;
  int static_sets = 1;  // The number of sets that exist from the start.
  std::vector<Item> items;
  // By rank and thread.
  std::vector<std::vector<std::vector<Action>>> threads;
  std::vector<Death> deaths;
  Pace pace;
  // The number of unread records up to which a leader appends more.
  std::uint32_t most_unread = 1u << 20;
  // Ranks run only when woken; otherwise they poll.
  bool sleepy = true;
  // A turn is one event; otherwise each part of a turn is one.
  bool atomic_turns = false;
  // Operations without data wait for all members, too.
  bool strict_executor = false;
  // The job gives itself up, because it stalls.
  bool stalls = false;

  int size() const { return static_cast<int>(threads.size()); }
  bool breaks() const { return !deaths.empty() || stalls; }

  // A readable description.
  std::string describe() const;
};

}  // namespace hvd::simulation
