// SPDX-License-Identifier: Apache-2.0
// The control messages, and their form on the wire: a header of magic number,
// format version, epoch and type, then the body.
//
// Up the tree, from a rank to the leader of its node, from a leader to its
// parent; each leader passes on what its whole subtree has said:
//   Propose     I submitted this, which is not agreed on
//   Outdated    what I submitted under this id's name is not what was agreed on
//   Ready       these ids are complete in my subtree
//   Passed      I have read past the retirement of these ids
//   Join        I want to join this process set
//   Joined      ... and everything I had submitted has been proposed
//   Leave       I shut down
//   AllLeft     all of my subtree have
//   Stop        I have to leave the cycle
//   Halted      so far had I entered the cycle when I heard Halt
//   Stalled     I have waited too long for this
//   Inspected   what is known of the ranks that Inspect asked after
// Down the tree, to all ranks:
//   Define      all ranks proposed this: here is its id
//   Reject      the ranks disagree: why the submission fails, where the
//               schedule says so
//   Round       (leaders only) append this to the schedule of your node
//   Halt        enter nothing more of the cycle, and say how far you are
//   Inspect     who has submitted this?
//   Closed      every rank has left
// Between leaders that are neighbours in the tree, or from anybody:
//   Beat        I am here
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
#include "horovodpp/coordinator/request.h"

namespace hvd::coordinator {

// What the schedule says to do next.
enum class RecordKind : std::uint8_t {
  kRun = 0,     // Execute the operation `id`.
  kRetire = 1,  // Forget `id`; who has arrived at it proposes anew.
  kLeave = 2,   // Rank `id` shuts down: nothing can complete any more.
  kJoin = 3,    // Somebody joins process set `id`, whose ids are retired.
  kJoined = 4,  // All of process set `id` have joined, rank `value` last.
  // The operation `id` belongs to the cycle; a batch of it ends here if `value`
  // is not 0.
  kCycle = 5,
  kStartCycle = 6,  // From here on the cycle is executed; `value` is its hash.
  kEndCycle = 7,    // ... until `value` batches of it have been.
  kReject = 8,      // What Reject number `id` says happens here.
};
inline constexpr RecordKind kLastRecordKind = RecordKind::kReject;

struct Record {
  RecordKind kind = RecordKind::kRun;
  std::uint32_t id = 0;
  std::uint64_t value = 0;
  // The last of the records that are read as one.
  bool ends_batch = true;

  friend bool operator==(const Record&, const Record&) = default;
};

// "No slot on the arrival board": the id serves once and is then forgotten.
inline constexpr std::uint32_t kNoSlot = 0xffffffffu;

// A member function `fields` names what travels, in order.

// A request, or none.
struct MaybeRequest : RequestPtr {
  MaybeRequest(RequestPtr request = {}) : RequestPtr(std::move(request)) {}
};

struct Propose {
  // What the subtree's first rank proposes, and if another of its ranks
  // proposes something that does not match, that.
  int rank = 0;
  RequestPtr request = {};
  int other_rank = 0;
  MaybeRequest other = {};
  std::uint32_t count = 1;  // Ranks that propose.
  // Of a broadcast: the root is among them.
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
  std::uint32_t run = 0;  // Of the cycle: cycles are numbered.
  static auto fields(auto& m) { return std::tie(m.run); }
};
struct Halted {
  std::uint32_t run = 0;
  std::uint64_t entered = 0;  // Batches; the least of the subtree.
  static auto fields(auto& m) { return std::tie(m.run, m.entered); }
};
struct Stalled {
  Key key = {};
  std::uint32_t waited_ms = 0;
  // Joins wait for as long as the others have something to do.
  bool is_join = false;
  static auto fields(auto& m) {
    return std::tie(m.key, m.waited_ms, m.is_join);
  }
};

// What one rank knows of itself.
struct RankState {
  int rank = 0;
  bool answers = true;  // Else the rest is unknown.
  bool has_submitted = false;
  bool has_joined = false;
  bool has_left = false;
  std::uint64_t submissions = 0;  // Of the name asked after.
  std::string last_name = {};     // What it submitted last, if anything,
  std::uint32_t last_ms_ago = 0;  // and when.
  std::string remark = {};        // What its leader sees of it.
  static auto fields(auto& m) {
    return std::tie(m.rank, m.answers, m.has_submitted, m.has_joined,
                    m.has_left, m.submissions, m.last_name, m.last_ms_ago,
                    m.remark);
  }
};
struct Inspected {
  std::uint32_t query = 0;
  std::uint32_t ready_count = 0;
  std::uint32_t missing_count = 0;
  std::uint64_t most_submissions = 0;   // Of the ready ranks.
  std::vector<int> ready = {};          // Not all, if there are many;
  std::vector<RankState> missing = {};  // likewise.
  static auto fields(auto& m) {
    return std::tie(m.query, m.ready_count, m.missing_count, m.most_submissions,
                    m.ready, m.missing);
  }
};

struct Define {
  std::uint32_t id = 0;
  std::uint32_t slot = kNoSlot;
  int participants = 0;
  std::uint32_t result = 0;  // add_process_set: the number of the new set.
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
  static auto fields(auto& m) { return std::tie(m.query, m.key); }
};
struct Closed {
  static auto fields(auto&) { return std::tie(); }
};
struct Beat {
  static auto fields(auto&) { return std::tie(); }
};
struct Break {
  std::string why = {};
  std::vector<int> suspects = {};  // core/suspects.h
  static auto fields(auto& m) { return std::tie(m.why, m.suspects); }
};

using Message =
    std::variant<Propose, Outdated, Ready, Passed, Join, Joined, Leave, AllLeft,
                 Stop, Halted, Stalled, Inspected, Define, Reject, Round, Halt,
                 Inspect, Closed, Beat, Break>;

// Where a message may come from.
enum class Direction { kUp, kDown, kAny };
Direction direction_of(const Message& message);

struct Envelope {
  std::uint32_t epoch = 0;
  Message message;
};

std::string encode(std::uint32_t epoch, const Message& message);
void encode(std::uint32_t epoch, const Message& message, WireWriter& writer);

//   InvalidArgument  the bytes are no message of ours, or of another version
absl::StatusOr<Envelope> decode(std::string_view bytes);
// The first message of a letter, which is one or more of them in a row; `letter`
// goes on behind it.
absl::StatusOr<Envelope> decode_first(std::string_view& letter);

}  // namespace hvd::coordinator
