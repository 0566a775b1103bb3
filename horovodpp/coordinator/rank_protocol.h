// SPDX-License-Identifier: Apache-2.0
// RankProtocol is one rank's part in the agreement. It announces this rank's
// submissions: with a mark on the node's board if the name has an id, else with
// a proposal. And it reads the schedule for the next batch to execute.
//
// A pure state machine: no thread, no clock of its own, no I/O but the board.
// rank_protocol_schedule.cc reads the schedule, rank_protocol_cycle.cc follows
// cycles.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/awaited_keys.h"
#include "horovodpp/coordinator/current_batch.h"
#include "horovodpp/coordinator/cycle_follower.h"
#include "horovodpp/coordinator/operation_table.h"
#include "horovodpp/coordinator/protocol/batch.h"
#include "horovodpp/coordinator/protocol/message.h"
#include "horovodpp/coordinator/protocol/name_table.h"
#include "horovodpp/coordinator/protocol/node_board.h"
#include "horovodpp/coordinator/protocol/process_sets.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/coordinator/protocol/tree.h"
#include "horovodpp/coordinator/stall_reporter.h"
#include "horovodpp/coordinator/tuning/cycle_meter.h"
#include "horovodpp/core/thread/clock.h"

namespace hvd::coordinator {

class RankProtocol {
 public:
  struct Options {
    int rank = 0;
    std::shared_ptr<const Tree> tree = {};
    // How long a submission waits before this rank sends Stalled, and before
    // the job fails. Zero: forever.
    Clock::Duration stall_warning{0};
    Clock::Duration stall_shutdown{0};
    // Names a rank with host and pid, for messages.
    std::function<std::string(int rank)> describe = {};
    CycleMeter::Options meter = {};
  };

  RankProtocol(const Options& options, ProcessSets sets, NodeBoard& board);

  // This rank has submitted `request`, whose key is not in flight here. Batches
  // and failures return `mine`, which is not dereferenced.
  void submit(const Request& request, Clock::TimePoint now,
              Submission* mine = nullptr);
  // This rank has submitted these; their keys are not in flight here.
  void submit(std::span<Submission* const> all, Clock::TimePoint now);
  // See Coordinator.
  const Batch* lone_head(Submission& mine);
  void enter_lone_head(Submission& mine, Clock::TimePoint now);
  void begin_to_wait(Clock::TimePoint now);
  // A caller blocks until the operation `key` completes.
  void wait_for(const Key& key);
  void leave();

  // Messages from the root.
  absl::Status define(const Define& message);
  absl::Status reject(const Reject& message);
  void halt(const Halt& message);

  // Reports submissions that have waited too long. Call when is_due().
  void report_stalls(Clock::TimePoint now);
  // When report_stalls() is due next.
  std::optional<Clock::TimePoint> due() const {
    return in_flight_ > 0 ? stalls_.due() : std::nullopt;
  }
  bool is_due(Clock::TimePoint now) const {
    return in_flight_ > 0 && stalls_.due() && now >= *stalls_.due();
  }

  // Asks for the ranks that keep `key` waiting; see Coordinator::ask().
  void ask(const Key& key, std::uint32_t question, Clock::TimePoint now);
  // Asks to leave the cycle, if one is in force.
  void stop_cycle();

  // See Coordinator.
  absl::StatusOr<const Batch*> next_batch();
  void executed(const Batch& batch, std::uint64_t began, std::uint64_t ended);
  bool measures_cycle() const { return meter_.is_on(); }
  void finished();
  bool should_abandon() const;
  // See Coordinator.
  std::size_t submissions_to_next() const { return cycle_.missing(); }
  bool follows_cycle() const { return cycle_.goes_on(); }
  void abandoned();

  // Whether the root may extend the schedule: this rank has read the whole
  // schedule and executes nothing. With `ahead`, this rank may be executing one
  // batch.
  bool may_be_given_more(bool ahead) const {
    return (ahead || !batch_.is_executing()) && !board_.next_record();
  }

  // Whether this rank has read more of the schedule, or finished a batch, since
  // the last call.
  bool take_has_read() { return std::exchange(has_read_, false); }
  bool has_read() const { return has_read_; }

  // Messages for the leader, in order, and submissions that failed.
  std::vector<Message> take_messages();
  bool has_messages() const { return !messages_.empty(); }
  std::vector<Failure> take_failures();
  bool has_failures() const { return !failures_.empty(); }
  // Whether the board has something new for the node's leader since the last
  // call: a complete id, or room that the leader waits for.
  bool take_leader_is_wanted();
  bool has_changes() const { return !messages_.empty() || leader_is_wanted_; }

  // The agreement under `id`; nullptr if unknown or retired.
  const Define* definition(std::uint32_t id) const;
  // Whether everything that `records` name is known.
  bool may_be_read(const std::vector<Record>& records) const;
  std::optional<std::uint32_t> id_of(const Key& key) const {
    return operations_.id_of(key);
  }
  const ProcessSets& process_sets() const { return sets_; }

  // This rank's own state, and its state for `key`.
  RankState state(const Key& key, Clock::TimePoint now) const;
  bool is_member(ProcessSetId set) const {
    return sets_.contains(set, options_.rank);
  }

  bool has_in_flight() const { return in_flight_ > 0; }
  // Whether the whole schedule has been read.
  bool has_ended() const { return ended_by_.has_value(); }
  // The rank that left first; nullopt until the end of the schedule has been
  // read.
  std::optional<int> ended_by() const { return ended_by_; }

 private:
  using State = Operation::State;

  struct Joining {
    RequestPtr request = {};
    bool in_effect = false;
    Clock::TimePoint since = {};
    Submission* mine = nullptr;
  };
  struct Proposed {
    Clock::TimePoint since = {};
    Submission* mine = nullptr;
  };
  // An operation that occurs several times in the cycle, and one of its
  // positions.
  struct Place {
    Operation* operation = nullptr;
    Operation::Place place = {};
  };
  // A batch of the cycle, with its operations in order.
  struct PlannedBatch {
    Batch batch = {};
    std::vector<Operation*> operations = {};
    // Next positions of operations that occur again.
    std::vector<Place> next = {};
  };

  // Whether this rank submits `request`.
  bool is_concerned(const Request& request) const;
  std::uint64_t node_members(ProcessSetId set) const;
  // Whether an operation `key` is still pending.
  bool is_in_flight(const Key& key) const;
  void propose(RequestPtr request, const Proposed& as);
  // Removes and returns the proposal of `key`; nullopt if none.
  std::optional<Proposed> take_proposal(const Key& key);
  // The operation that `mine` repeats, if its name has not changed since the
  // last lookup; else nullptr.
  Operation* repeated_by(Submission& mine) const;
  void submit_one(Submission& mine, Clock::TimePoint now);
  // Submits `request` to the operation of its name and returns that operation;
  // nullptr if there is none.
  Operation* submit_by_name(const Request& request, Clock::TimePoint now,
                            Submission* mine);
  void join(const Request& request, Clock::TimePoint now, Submission* mine);
  void submit_known(Operation& operation, Clock::TimePoint now,
                    Submission* mine);
  void submit_in_cycle(Operation& operation);
  void mark(Operation& operation);
  void fail(const Key& key, Submission* mine, absl::Status why);
  // The error when rank `rank` shut down before all ranks had submitted `key`.
  absl::Status cancelled_by(int rank, const Key& key) const;

  absl::Status read(const std::vector<Record>& records);
  absl::Status run(const std::vector<Record>& records);
  absl::StatusOr<Batch::Entry> take(Operation& operation);
  void retire(std::uint32_t id);
  void apply_reject(std::uint32_t number);
  void begin_join(ProcessSetId set);
  absl::Status end_join(ProcessSetId set, int last_rank);
  void remove_set(ProcessSetId set);
  void end(int rank);
  absl::Status read_cycle(const std::vector<Record>& records);
  absl::Status start_cycle(const Record& start);
  absl::Status end_cycle(std::uint64_t executed);
  void plan_cycle();
  void measure_cycle();
  static void set_places(const std::vector<Place>& places);
  void enter_cycle_head();
  // Everything of this rank that waits.
  std::vector<StallReporter::Waiting> waiting() const;

  const Options options_;
  ProcessSets sets_;
  NodeBoard& board_;

  OperationTable operations_;
  RequestMap<Proposed> proposed_;
  // Not yet reached in the schedule.
  absl::flat_hash_map<std::uint32_t, Reject> rejects_;
  absl::flat_hash_map<ProcessSetId, Joining> joining_;
  absl::flat_hash_set<ProcessSetId> join_phases_;
  int in_flight_ = 0;
  std::optional<int> ended_by_;

  CurrentBatch batch_;
  CycleFollower cycle_;
  std::vector<PlannedBatch> plan_;  // Of the current or last cycle.
  std::uint64_t plan_number_ = 0;
  // First positions of operations that occur again.
  std::vector<Place> first_places_;
  PlannedBatch* entered_ = nullptr;  // The batch of the plan being executed.
  // Id and time of the last submission, if it alone entered the head of the
  // cycle.
  std::uint32_t last_alone_ = kNoId;
  Clock::TimePoint last_alone_at_ = {};
  CycleMeter meter_;
  AwaitedKeys awaited_;
  StallReporter stalls_;

  // Output not yet taken.
  std::vector<Message> messages_;
  std::vector<Failure> failures_;
  bool leader_is_wanted_ = false;
  bool has_read_ = false;
};

}  // namespace hvd::coordinator
