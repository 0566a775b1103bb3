// The Negotiator is every rank's part of the protocol: it tells peers what this
// rank has submitted (a mark on the node's board where the name has an id, else
// a proposal to the root), and reads the schedule: what to execute next.
//
// A pure state machine: no thread, no clock, no I/O but the board.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/message.h"
#include "horovodpp/coordinator/node_board.h"

namespace hvd::coordinator {

// Submissions that are executed as one operation; all are in flight on this
// rank.
struct Batch {
  Request
      request;  // Of the first; equal for all in what decides the operation.
  std::vector<std::string> names;
};

struct Failure {
  std::string name;
  absl::Status why;
};

class Negotiator {
 public:
  explicit Negotiator(NodeBoard& board) : board_(board) {}

  // This rank has submitted `request`; its name is not in flight here.
  void submit(const Request& request);

  // From the root.
  absl::Status define(const Define& message);
  absl::Status reject(const Reject& message);

  // The next batch to execute, if the schedule has one. Executes what is not
  // for data on the way.
  absl::StatusOr<std::optional<Batch>> next_batch();

  // Messages for the root, in order; submissions that failed; the rank, if any,
  // whose shutdown ended the schedule.
  std::vector<Message> take_messages();
  // Whether there are messages, or the leader is to be woken.
  bool has_news() const { return !messages_.empty() || leader_is_wanted_; }
  std::vector<Failure> take_failures();
  std::optional<int> ended_by() const { return ended_by_; }

  // Whether, since the last call, there came up something on the board for the
  // node's leader: a complete id, or room it waits for.
  bool take_leader_is_wanted();

  bool has_in_flight() const { return !in_flight_.empty(); }

 private:
  static constexpr std::uint32_t kNotArrived = 0xffffffffu;

  struct Known {
    Request request;
    std::uint32_t slot = 0;
  };
  struct InFlight {
    Request request;
    std::uint32_t arrived_at = kNotArrived;  // The id it is marked under.
  };

  void propose(InFlight& submission);
  void retire(std::uint32_t id);
  void end(int rank);
  // The batch these records stand for; nullopt if an id's definition is still
  // under way to this rank.
  absl::StatusOr<std::optional<Batch>> batch_of(
      const std::vector<Record>& records);
  bool defined(std::uint32_t id) const { return known_.contains(id); }
  void forget_after_use(const std::vector<Record>& records);

  NodeBoard& board_;
  absl::flat_hash_map<std::uint32_t, Known> known_;
  absl::flat_hash_map<std::string, std::uint32_t> id_of_;
  absl::flat_hash_map<std::string, InFlight> in_flight_;
  std::vector<Message> messages_;
  std::vector<Failure> failures_;
  std::optional<int> ended_by_;
  bool leader_is_wanted_ = false;
};

}  // namespace hvd::coordinator
