// SPDX-License-Identifier: Apache-2.0
// The RankProtocol is one rank's part of the agreement: it tells peers what this
// rank has submitted (a mark on the node's board where the name has an id, else
// a proposal), and reads the schedule: what to execute next.
//
// A pure state machine: no thread, no clock of its own, no I/O but the board.
// What it reads in the schedule is in rank_protocol_schedule.cc.
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
#include "horovodpp/coordinator/batch.h"
#include "horovodpp/coordinator/current_batch.h"
#include "horovodpp/coordinator/cycle_follower.h"
#include "horovodpp/coordinator/message.h"
#include "horovodpp/coordinator/name_table.h"
#include "horovodpp/coordinator/node_board.h"
#include "horovodpp/coordinator/operation_table.h"
#include "horovodpp/coordinator/process_sets.h"
#include "horovodpp/coordinator/stall_reporter.h"
#include "horovodpp/coordinator/submission.h"
#include "horovodpp/coordinator/tree.h"
#include "horovodpp/core/clock.h"

namespace hvd::coordinator {

class RankProtocol {
 public:
  struct Options {
    int rank = 0;
    std::shared_ptr<const Tree> tree = {};
    // How long a submission waits before Stalled is said; zero: for ever.
    Clock::Duration stall_warning{0};
    Clock::Duration stall_shutdown{0};
    // A rank with host and pid, for messages.
    std::function<std::string(int rank)> describe = {};
  };

  RankProtocol(const Options& options, ProcessSets sets, NodeBoard& board);

  // This rank has submitted `request`; its key is not in flight here. Batches and
  // failures give `mine` back, which is not looked into.
  void submit(const Request& request, Clock::TimePoint now,
              Submission* mine = nullptr);
  // This rank has submitted these, whose keys are not in flight here.
  void submit(std::span<Submission* const> all, Clock::TimePoint now);
  // See Coordinator.
  const Batch* lone_head(Submission& mine);
  void enter_lone_head(Submission& mine, Clock::TimePoint now);
  void begin_to_wait(Clock::TimePoint now);
  // Somebody blocks until `key` has an outcome.
  void wait_for(const Key& key);
  void leave();

  // From the root.
  absl::Status define(const Define& message);
  absl::Status reject(const Reject& message);
  void halt(const Halt& message);

  // Looks for what has waited too long, which is_due() says there may be.
  void look(Clock::TimePoint now);
  // When look() will find something.
  std::optional<Clock::TimePoint> due() const {
    return in_flight_ > 0 ? stalls_.due() : std::nullopt;
  }
  bool is_due(Clock::TimePoint now) const {
    return in_flight_ > 0 && stalls_.due() && now >= *stalls_.due();
  }

  // See Coordinator.
  absl::StatusOr<const Batch*> next_batch();
  void finished();
  bool should_abandon() const;
  // See Coordinator.
  std::size_t submissions_to_next() const { return cycle_.missing(); }
  bool follows_cycle() const { return cycle_.goes_on(); }
  void abandoned();

  // Whether the root should go on with the schedule: this rank has read all of
  // it, and executes nothing, unless it is to be one batch `ahead`.
  bool may_be_given_more(bool ahead) const {
    return (ahead || !batch_.is_executing()) && !board_.next_record();
  }

  // Whether this rank has read on in the schedule, or has come to the end of a
  // batch, since the last call.
  bool take_has_read() { return std::exchange(has_read_, false); }
  bool has_read() const { return has_read_; }

  // Messages for the leader, in order; submissions that failed.
  std::vector<Message> take_messages();
  bool has_messages() const { return !messages_.empty(); }
  std::vector<Failure> take_failures();
  bool has_failures() const { return !failures_.empty(); }
  // Whether, since the last call, there came up something on the board for the
  // node's leader: a complete id, or room it waits for.
  bool take_leader_is_wanted();
  bool has_news() const { return !messages_.empty() || leader_is_wanted_; }

  // What was agreed on under `id`; nullptr if that is not known (any more).
  const Define* definition(std::uint32_t id) const;
  // Whether all that `records` name is known.
  bool may_be_read(const std::vector<Record>& records) const;
  std::optional<std::uint32_t> id_of(const Key& key) const {
    return operations_.id_of(key);
  }
  const ProcessSets& process_sets() const { return sets_; }

  // What this rank knows of itself and `key`.
  RankState state(const Key& key, Clock::TimePoint now) const;
  bool is_member(ProcessSetId set) const {
    return sets_.contains(set, options_.rank);
  }

  bool has_in_flight() const { return in_flight_ > 0; }
  // Whether the schedule has been read to its end.
  bool has_ended() const { return ended_by_.has_value(); }
  // The rank that left first; nothing before the schedule's end has been read.
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
  // An operation that comes more than once in the cycle, and where.
  struct Place {
    Operation* operation = nullptr;
    Operation::Place place = {};
  };
  // A batch of the cycle, with its operations in order.
  struct PlannedBatch {
    Batch batch = {};
    std::vector<Operation*> operations = {};
    std::vector<Place> next = {};  // Where some of these come again.
  };

  std::uint64_t node_members(ProcessSetId set) const;
  // What is in flight under `key` is not over yet.
  bool is_in_flight(const Key& key) const;
  void propose(RequestPtr request, const Proposed& as);
  // What was proposed as `key`, which it is no more; nullopt if nothing was.
  std::optional<Proposed> take_proposal(const Key& key);
  // The operation that `mine` repeats, where nothing about its name has changed
  // since it was found; else nullptr.
  Operation* repeated_by(Submission& mine) const;
  void submit_one(Submission& mine, Clock::TimePoint now);
  // What there is under the name of `request`, which is submitted; else nullptr.
  Operation* submit_by_name(const Request& request, Clock::TimePoint now,
                            Submission* mine);
  void join(const Request& request, Clock::TimePoint now, Submission* mine);
  void submit_known(Operation& operation, Clock::TimePoint now,
                    Submission* mine);
  void submit_in_cycle(Operation& operation);
  void mark(Operation& operation);
  void fail(const Key& key, Submission* mine, absl::Status why);
  // Rank `rank` shut down before all had submitted `key`.
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
  absl::Status hear_cycle(const std::vector<Record>& records);
  absl::Status start_cycle(const Record& start);
  absl::Status end_cycle(std::uint64_t executed);
  void plan_cycle();
  static void go_to(const std::vector<Place>& places);
  void enter_cycle_head();
  void stop_cycle();

  const Options options_;
  ProcessSets sets_;
  NodeBoard& board_;

  OperationTable operations_;
  RequestMap<Proposed> proposed_;
  absl::flat_hash_map<std::uint32_t, Reject> rejects_;  // Yet to be read.
  absl::flat_hash_map<ProcessSetId, Joining> joining_;
  absl::flat_hash_set<ProcessSetId> join_phases_;
  int in_flight_ = 0;
  std::optional<int> ended_by_;

  CurrentBatch batch_;
  CycleFollower cycle_;
  std::vector<PlannedBatch> plan_;  // Of the cycle in force, or the last one.
  std::uint64_t plan_number_ = 0;
  std::vector<Place> first_places_;  // Of those that come again in it.
  PlannedBatch* entered_ = nullptr;  // Which of it is executed.
  // What was submitted last, if that entered the head of the cycle: its id, and when.
  std::uint32_t last_alone_ = kNoId;
  Clock::TimePoint last_alone_at_ = {};
  AwaitedKeys awaited_;
  StallReporter stalls_;

  // What is yet to be taken.
  std::vector<Message> messages_;
  std::vector<Failure> failures_;
  bool leader_is_wanted_ = false;
  bool has_read_ = false;
};

}  // namespace hvd::coordinator
