// The control messages, and their form on the wire: a header of magic number,
// format version, epoch and type, then the body.
//
//   who -> whom        message      says
//   rank -> root       Propose      I submitted this, which is not agreed on
//   root -> all        Define       all ranks did: this is its id (it runs when
//                                   the schedule says so)
//   root -> all        Reject       the ranks disagree: fail the submission
//   rank -> root       Passed       I have read past the retirement of this id
//   leader -> root     Ready        these ids are complete on my node
//   root -> leader     ReadySeen    ... noted: the next Ready may come
//   root -> leader     Round        append this to the schedule of your node
//   leader -> root     RoundSeen    ... done: the next Round may come
//   rank -> root       Leave        I shut down
//   root -> all        Closed       every rank has left
//   any -> all         Break        the job is broken, and why
//
// The root is rank 0; a leader is the lowest rank of a node.
#pragma once

#include <cstdint>
#include <string>
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
};

struct Record {
  RecordKind kind = RecordKind::kRun;
  std::uint32_t id = 0;
  // The last of the records that are executed as one batch.
  bool ends_batch = true;

  friend bool operator==(const Record&, const Record&) = default;
};

// "No slot on the arrival board": the id serves once and is then forgotten.
inline constexpr std::uint32_t kNoSlot = 0xffffffffu;

struct Propose {
  Request request;
};
struct Define {
  std::uint32_t id = 0;
  std::uint32_t slot = kNoSlot;
  Request request;
};
struct Reject {
  std::string name;
  std::string why;
};
struct Passed {
  std::uint32_t id = 0;
};
struct Ready {
  std::vector<std::uint32_t> ids;
};
struct ReadySeen {};
struct Round {
  std::vector<Record> records;
};
struct RoundSeen {};
struct Leave {};
struct Closed {};
struct Break {
  std::string why;
};

using Message = std::variant<Propose, Define, Reject, Passed, Ready, ReadySeen,
                             Round, RoundSeen, Leave, Closed, Break>;

struct Envelope {
  std::uint32_t epoch = 0;
  Message message;
};

std::string encode(const Envelope& envelope);

//   InvalidArgument  the bytes are no message of ours, or of another version
absl::StatusOr<Envelope> decode(std::string bytes);

}  // namespace hvd::coordinator
