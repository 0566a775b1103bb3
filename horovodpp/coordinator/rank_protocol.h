// The RankProtocol is one rank's part of the agreement: it tells peers what this
// rank has submitted (a mark on the node's board where the name has an id, else
// a proposal), and reads the schedule: what to execute next.
//
// A pure state machine: no thread, no clock of its own, no I/O but the board.
// What it reads in the schedule is in rank_protocol_schedule.cc, how it follows and
// leaves cycles in rank_protocol_cycle.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/batch.h"
#include "horovodpp/coordinator/cycle.h"
#include "horovodpp/coordinator/message.h"
#include "horovodpp/coordinator/name_table.h"
#include "horovodpp/coordinator/node_board.h"
#include "horovodpp/coordinator/process_sets.h"
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

  // This rank has submitted `request`; its key is not in flight here.
  void submit(const Request& request, Clock::TimePoint now);
  // Somebody blocks until `key` has an outcome.
  void wait_for(const Key& key);
  void leave();

  // From the root.
  absl::Status define(const Define& message);
  absl::Status reject(const Reject& message);
  void halt(const Halt& message);

  // Looks for what has waited too long.
  void look(Clock::TimePoint now);
  // When look() will find something.
  std::optional<Clock::TimePoint> due() const;

  // See Coordinator.
  absl::StatusOr<std::optional<Batch>> next_batch();
  void finished();
  bool should_abandon() const;
  // See Coordinator.
  std::size_t submissions_to_next() const;
  void abandoned();

  // Whether the root should go on with the schedule: this rank has read all of
  // it, and executes nothing, unless it is to be one batch `ahead`.
  bool may_be_given_more(bool ahead) const {
    return (ahead || !executing_) && board_.next_batch().empty();
  }

  // Whether this rank has read on in the schedule, or has come to the end of a
  // batch, since the last call.
  bool take_has_read() { return std::exchange(has_read_, false); }
  bool has_read() const { return has_read_; }

  // Messages for the leader, in order; submissions that failed.
  std::vector<Message> take_messages();
  std::vector<Failure> take_failures();
  // Whether, since the last call, there came up something on the board for the
  // node's leader: a complete id, or room it waits for.
  bool take_leader_is_wanted();
  bool has_news() const { return !messages_.empty() || leader_is_wanted_; }

  // What was agreed on under `id`; nullptr if that is not known (any more).
  const Define* definition(std::uint32_t id) const;
  // Whether every id that `records` name is known.
  bool may_be_read(const std::vector<Record>& records) const;
  std::optional<std::uint32_t> id_of(const Key& key) const {
    return id_of_.find(key);
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
  enum class State : std::uint8_t {
    kIdle,       // Not submitted,
    kMarked,     // on the board,
    kInCycle,    // to be executed as the cycle says,
    kDeferred,   // to be marked once the cycle is over,
    kExecuting,  // given out.
  };

  struct Known {
    Define definition = {};
    std::uint64_t node_members = 0;  // Bits of the local ranks concerned.
    State state = State::kIdle;
    std::uint32_t submissions = 0;
    Clock::TimePoint since = {};
  };
  struct Joining {
    std::shared_ptr<const Request> request = {};
    bool in_effect = false;
    Clock::TimePoint since = {};
  };

  std::uint64_t node_members(ProcessSetId set) const;
  void propose(const Request& request, Clock::TimePoint since);
  // False if `key` was not proposed.
  bool forget_proposal(const Key& key);
  void join(const Request& request, Clock::TimePoint now);
  void submit_known(std::uint32_t id, Known& known, Clock::TimePoint now);
  void mark(std::uint32_t id, Known& known);
  void fail(const Key& key, absl::Status why);
  // Rank `rank` shut down before all had submitted `key`.
  absl::Status cancelled_by(int rank, const Key& key) const;

  absl::StatusOr<bool> read(const std::vector<Record>& records);
  absl::Status run(const std::vector<Record>& records);
  absl::StatusOr<Batch::Entry> take(std::uint32_t id);
  void retire(std::uint32_t id);
  void apply_reject(std::uint32_t number);
  void begin_join(ProcessSetId set);
  absl::Status end_join(ProcessSetId set, int last_rank);
  void remove_set(ProcessSetId set);
  void end(int rank);
  absl::Status start_cycle(const std::vector<Record>& records);
  absl::Status end_cycle(std::uint64_t executed);
  void enter_cycle_head();
  void drop_old_waits();
  void stop_cycle_if_waited_for();
  void stop_cycle();
  Batch new_batch();

  const Options options_;
  ProcessSets sets_;
  NodeBoard& board_;

  absl::flat_hash_map<std::uint32_t, Known> known_;
  NameTable id_of_;
  absl::flat_hash_map<Key, Clock::TimePoint> proposed_;  // Since when.
  absl::flat_hash_map<std::uint32_t, Reject> rejects_;   // Yet to be read.
  absl::flat_hash_map<ProcessSetId, Joining> joining_;
  absl::flat_hash_set<ProcessSetId> join_phases_;
  int in_flight_ = 0;

  // The batch given out: its ids, and where it is in the cycle if it is.
  std::optional<Batch> next_;
  bool executing_ = false;
  std::vector<std::uint32_t> executing_ids_;

  std::uint32_t epoch_ = 1;
  std::uint64_t sequence_ = 0;
  std::optional<Cycle> cycle_;
  std::uint32_t run_ = 0;     // The cycle's number, or the last one's.
  std::uint32_t halted_ = 0;  // The last run that Halt was heard of.
  bool has_said_stop_ = false;
  static constexpr std::size_t kLeastWaitsKept = 32;
  absl::flat_hash_set<Key> waited_for_;
  std::size_t waits_kept_ = kLeastWaitsKept;

  std::vector<Message> messages_;
  std::vector<Failure> failures_;
  std::optional<int> ended_by_;
  bool leader_is_wanted_ = false;
  bool has_read_ = false;

  std::optional<Clock::TimePoint> next_look_;
  std::string last_name_;
  std::optional<Clock::TimePoint> last_submission_;
};

}  // namespace hvd::coordinator
