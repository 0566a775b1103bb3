// SPDX-License-Identifier: Apache-2.0
// The control messages and their wire format: a header of magic number, format
// version, epoch and type, then the body.
//
// Up the tree, from a rank to its node's leader and from a leader to its
// parent. Each leader combines the messages of its whole subtree:
//   Propose     I submitted this, which is not agreed on
//   Outdated    my submission under this id's name differs from the agreement
//   Ready       these ids are complete in my subtree
//   Passed      I have read past the retirement of these ids
//   Join        I want to join this process set
//   Joined      ... and all my submissions have been proposed
//   Leave       I shut down
//   AllLeft     all of my subtree have left
//   Stop        I have to leave the cycle
//   Halted      batches of the cycle I had entered when I heard Halt
//   Stalled     I have waited too long for this
//   Inspected   known facts about the ranks in question, answering Inspect
//   Report      what a rank tells rank 0, of no meaning to the agreement
//   Measured    times of a step of the cycle, for the tuner
// Down the tree, to all ranks:
//   Define      all ranks proposed this: here is its id
//   Reject      the ranks disagree: why the submission fails, at the point
//               that the schedule names
//   Round       (leaders only) append this to the schedule of your node
//   Halt        enter nothing more of the cycle, and say how far you are
//   Inspect     which ranks have submitted this?
//   Told        to the rank that asked by Stalled: which ranks are missing
//   Closed      every rank has left
// Between neighboring leaders in the tree, or from any rank:
//   Beat        I am alive
//   Break       the job is broken, and why
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/coordinator/protocol/request.h"
#include "horovodpp/core/job/suspects.h"

namespace hvd::coordinator {

// The next action in the schedule.
enum class RecordKind : std::uint8_t {
  kRun = 0,     // Execute the operation `id`.
  kRetire = 1,  // Forget `id`; ranks that have arrived propose again.
  kLeave = 2,   // Rank `id` shuts down: no later operation can complete.
  kJoin = 3,    // A rank joins process set `id`, whose ids are retired.
  kJoined = 4,  // All of process set `id` have joined, rank `value` last.
  // The operation `id` belongs to the cycle; a nonzero `value` ends a batch.
  kCycle = 5,
  kStartCycle = 6,  // The cycle starts here; `value` is its hash.
  kEndCycle = 7,    // The cycle ends after `value` batches.
  kReject = 8,      // The failure of Reject number `id` happens here.
};
inline constexpr RecordKind kLastRecordKind = RecordKind::kReject;

struct Record {
  RecordKind kind = RecordKind::kRun;
  std::uint32_t id = 0;
  std::uint64_t value = 0;
  // The last of the records that are read together.
  bool ends_batch = true;

  friend bool operator==(const Record&, const Record&) = default;
};

// No slot on the arrival board: the id is used once, then forgotten.
inline constexpr std::uint32_t kNoSlot = 0xffffffffu;

// `fields` lists the members that travel, in order.

// A request, or none.
struct MaybeRequest : RequestPtr {
  MaybeRequest(RequestPtr request = {}) : RequestPtr(std::move(request)) {}
};

struct Propose {
  // The proposal of the subtree's first rank, and the first mismatching
  // proposal of another rank, if any.
  int rank = 0;
  RequestPtr request = {};
  int other_rank = 0;
  MaybeRequest other = {};
  std::uint32_t count = 1;  // Ranks that propose.
  // Broadcast: the broadcasting rank is among them.
  bool root_is_here = false;
  static auto fields(auto& m) {
    return std::tie(m.rank, m.request, m.other_rank, m.other, m.count,
                    m.root_is_here);
  }
};
struct Outdated {
  std::uint32_t id = 0;
  static auto fields(auto& m) { return std::tie(m.id); }
};
struct Ready {
  std::vector<std::uint32_t> ids = {};
  static auto fields(auto& m) { return std::tie(m.ids); }
};
struct Passed {
  std::vector<std::uint32_t> ids = {};
  static auto fields(auto& m) { return std::tie(m.ids); }
};
struct Join {
  ProcessSetId process_set = kGlobalSet;
  static auto fields(auto& m) { return std::tie(m.process_set); }
};
struct Joined {
  ProcessSetId process_set = kGlobalSet;
  int last_rank = 0;
  static auto fields(auto& m) { return std::tie(m.process_set, m.last_rank); }
};
struct Leave {
  int rank = 0;
  static auto fields(auto& m) { return std::tie(m.rank); }
};
struct AllLeft {
  static auto fields(auto&) { return std::tie(); }
};
struct Stop {
  std::uint32_t run = 0;  // Cycles are numbered by run.
  static auto fields(auto& m) { return std::tie(m.run); }
};
struct Halted {
  std::uint32_t run = 0;
  std::uint64_t entered = 0;  // Batches; the minimum over the subtree.
  static auto fields(auto& m) { return std::tie(m.run, m.entered); }
};
struct Stalled {
  Key key = {};
  std::uint32_t waited_ms = 0;
  // A join waits as long as other ranks have work.
  bool is_join = false;
  // The ranks that submit it; empty: those of its process set.
  std::vector<int> ranks = {};
  // The rank that a deadline has passed on, and its number for the answer
  // (Told); -1: none.
  int asker = -1;
  std::uint32_t question = 0;
  static auto fields(auto& m) {
    return std::tie(m.key, m.waited_ms, m.is_join, m.ranks, m.asker,
                    m.question);
  }
};

// One rank's own state.
struct RankState {
  int rank = 0;
  bool answers = true;  // False: the rest is unknown.
  bool has_submitted = false;
  bool has_joined = false;
  bool has_left = false;
  std::uint64_t submissions = 0;   // Of the name in question.
  std::string last_name = {};      // The last submission, if any,
  std::uint32_t last_ms_ago = 0;   // and its age.
  std::string silence_cause = {};  // The leader's observation.
  static auto fields(auto& m) {
    return std::tie(m.rank, m.answers, m.has_submitted, m.has_joined,
                    m.has_left, m.submissions, m.last_name, m.last_ms_ago,
                    m.silence_cause);
  }
};
struct Inspected {
  std::uint32_t query = 0;
  std::uint32_t ready_count = 0;
  std::uint32_t missing_count = 0;
  std::uint64_t most_submissions = 0;   // Maximum over the ready ranks.
  std::vector<int> ready = {};          // Capped if there are many.
  std::vector<RankState> missing = {};  // Capped likewise.
  static auto fields(auto& m) {
    return std::tie(m.query, m.ready_count, m.missing_count, m.most_submissions,
                    m.ready, m.missing);
  }
};
struct Report {
  int rank = 0;
  std::string bytes = {};
  static auto fields(auto& m) { return std::tie(m.rank, m.bytes); }
};
// Times in units of 100 ns after the end of the step before; the latest over the
// subtree. The largest number: too late to be measured.
struct Measured {
  std::uint32_t number = 0;  // Of the measurement, from 1; equal on all ranks.
  std::uint64_t cycle = 0;   // The hash of the cycle.
  std::uint32_t step = 0;    // The time of a step, and
  std::uint32_t spread = 0;  // the distance of its quartiles.
  std::vector<std::uint32_t> arrivals = {};  // Of the cycle's operations.
  std::vector<std::uint32_t> ends = {};      // Of its batches.
  static auto fields(auto& m) {
    return std::tie(m.number, m.cycle, m.step, m.spread, m.arrivals, m.ends);
  }
};

struct Define {
  std::uint32_t id = 0;
  std::uint32_t slot = kNoSlot;
  int participants = 0;
  std::uint32_t result = 0;  // add_process_set: the new set's number.
  RequestPtr request = {};
  static auto fields(auto& m) {
    return std::tie(m.id, m.slot, m.participants, m.result, m.request);
  }
};
struct Reject {
  std::uint32_t number = 0;
  Key key = {};
  std::uint32_t code = 0;  // An absl::StatusCode.
  std::string why = {};
  static auto fields(auto& m) {
    return std::tie(m.number, m.key, m.code, m.why);
  }
};
struct Round {
  std::vector<Record> records = {};
  static auto fields(auto& m) { return std::tie(m.records); }
};
struct Halt {
  std::uint32_t run = 0;
  static auto fields(auto& m) { return std::tie(m.run); }
};
struct Inspect {
  std::uint32_t query = 0;
  Key key = {};
  std::vector<int> ranks = {};  // As of Stalled.
  static auto fields(auto& m) { return std::tie(m.query, m.key, m.ranks); }
};
struct Told {
  int asker = 0;
  std::uint32_t question = 0;
  std::string text = {};
  static auto fields(auto& m) { return std::tie(m.asker, m.question, m.text); }
};
struct Closed {
  static auto fields(auto&) { return std::tie(); }
};
struct Beat {
  static auto fields(auto&) { return std::tie(); }
};
struct Break {
  std::string why = {};
  std::vector<int> suspects = {};
  FailureKind kind = FailureKind::kOther;
  static auto fields(auto& m) { return std::tie(m.why, m.suspects, m.kind); }
};

using Message =
    std::variant<Propose, Outdated, Ready, Passed, Join, Joined, Leave, AllLeft,
                 Stop, Halted, Stalled, Inspected, Report, Define, Reject,
                 Round, Halt, Inspect, Told, Closed, Beat, Break, Measured>;

// Direction of travel in the tree.
enum class Direction { kUp, kDown, kAny };
Direction direction_of(const Message& message);

struct Envelope {
  std::uint32_t epoch = 0;
  Message message;
};

std::string encode(std::uint32_t epoch, const Message& message);
void encode(std::uint32_t epoch, const Message& message, WireWriter& writer);

//   InvalidArgument  the bytes are not a message, or of another version
absl::StatusOr<Envelope> decode(std::string_view bytes);
// Decodes the first message of a letter (one or more messages in a row), and
// advances `letter` past it.
absl::StatusOr<Envelope> decode_first(std::string_view& letter);

}  // namespace hvd::coordinator
