// SPDX-License-Identifier: Apache-2.0
// RootScheduler is the root's part in the agreement. It checks that all ranks'
// proposals for a name agree, assigns ids to names, and orders complete
// operations for all ranks. It also makes and ends cycles, and numbers process
// sets.
//
// A pure state machine: no thread, no clock of its own, no I/O.
// root_scheduler_cycle.cc makes and ends cycles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/protocol/cycle.h"
#include "horovodpp/coordinator/protocol/message.h"
#include "horovodpp/coordinator/protocol/name_table.h"
#include "horovodpp/coordinator/protocol/node_board.h"
#include "horovodpp/coordinator/protocol/process_sets.h"
#include "horovodpp/coordinator/root/fusion_planner.h"
#include "horovodpp/coordinator/root/schedule_queue.h"
#include "horovodpp/coordinator/root/step_detector.h"
#include "horovodpp/coordinator/root/tuner.h"
#include "horovodpp/core/thread/clock.h"

namespace hvd::coordinator {

class RootScheduler {
 public:
  struct Options {
    // Ids kept at a time; the least recently executed is retired. 0: none is
    // kept.
    std::uint32_t capacity = kDefaultSlots;
    FusionOptions fusion = {};
    // Longest time that a batch below the threshold is held back.
    Clock::Duration hold_back{0};
    // See StepDetector.
    int steps_before_schedule = 3;
    // Allow only allreduce while a rank has joined.
    bool strict_join = false;
    // Chooses the batches of cycles; nullopt: those of plan_fusion().
    std::optional<Tuner::Options> tuning = {};
  };

  // `sets`: the process sets that exist from the start.
  RootScheduler(const Options& options, ProcessSets sets);

  // A message that all concerned ranks have sent.
  //   InvalidArgument  the message violates the protocol
  absl::Status receive(Message message);

  // Messages for every rank, in order. Valid until the next call.
  std::vector<Message>& take_announcements();

  // The next records of the schedule, in whole batches; at most kMaxAppend
  // records. `is_idle`: everything cut before has been taken up.
  std::vector<Record> cut(Clock::TimePoint now, bool is_idle);

  // When cut() will release a batch that it holds back, if any.
  std::optional<Clock::TimePoint> held_until() const {
    return queue_.held_until();
  }
  bool has_queued() const { return !queue_.empty(); }
  // Whether cut() may return records.
  bool has_work() const {
    if (cycle_run_) return !cycle_parts_.empty();
    return !queue_.empty() || !steps_.repeated().empty();
  }

  // Whether, since the last call, a name was evicted for another for the first
  // time.
  bool take_is_full() { return std::exchange(is_full_, false); }

  // nullptr: batches are not tuned.
  Tuner* tuner() { return tuner_ ? &*tuner_ : nullptr; }

  // Every rank has left, and the schedule says so.
  bool finished() const { return all_left_ && queue_.empty() && !cycle_run_; }

 private:
  struct Live {
    RequestPtr request = {};
    std::uint32_t slot = 0;
    std::list<std::uint32_t>::iterator age = {};  // In by_age_.
  };
  void take(const Propose& message);
  void take(const Outdated& message);
  void take(const Ready& message);
  void take(const Passed& message);
  void take(const Join& message);
  void take(const Joined& message);
  void take(const Leave& message);
  void take(const AllLeft& message);
  void take(const Stop& message);
  void take(const Halted& message);
  void take(const Measured& message);
  template <typename M>
  void take(const M&) {}

  struct Verdict {
    absl::Status status = {};
    std::uint32_t result = 0;
  };
  Verdict judge(const Propose& message);
  absl::Status judge_with_joined(const Propose& message) const;
  // The number of ranks that submit the request.
  std::size_t concerned_by(const Request& request) const;
  absl::StatusOr<ProcessSetId> add_set(const Request& request);
  absl::Status check_removal(const Request& request) const;
  void define(const Propose& message, std::uint32_t result);
  void reject(const Key& key, const absl::Status& why);
  std::uint32_t take_slot();
  void retire(std::uint32_t id);
  void retire_all_of(ProcessSetId set);
  void remove_set(std::uint32_t id, ProcessSetId set);
  void enqueue_run(std::uint32_t id, RequestPtr request, int participants);
  void halt_cycle();
  void change_cycle(std::optional<Cycle> cycle);
  void was_followed();
  Cycle fused(const std::vector<std::uint32_t>& ids,
              const std::vector<Candidate>& step) const;
  bool start_cycle();
  bool resume_cycle();
  void put_in_force();
  void announce_cycle();
  std::vector<Record> next_part_of_cycle();
  std::optional<std::vector<Candidate>> candidates(
      const std::vector<std::uint32_t>& ids) const;

  const Options options_;
  ProcessSets sets_;
  std::vector<ProcessSetId> free_set_ids_;  // The longest free first.
  ProcessSetId next_set_id_ = 1;
  absl::flat_hash_set<ProcessSetId> join_phases_;

  absl::flat_hash_map<std::uint32_t, Live> live_;
  NameTable ids_;  // Of live_.
  // Retirements that some rank has not passed: ids with the slots to free, and
  // removals with their set numbers.
  absl::flat_hash_map<std::uint32_t, std::uint32_t> retired_;
  absl::flat_hash_map<std::uint32_t, ProcessSetId> removed_sets_;
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t used_slots_ = 0;     // Slots from here on were never used.
  std::list<std::uint32_t> by_age_;  // Live ids, the least recently run first.
  bool has_been_full_ = false;
  bool is_full_ = false;
  std::uint32_t next_id_ = 0;
  std::uint32_t next_reject_ = 0;

  ScheduleQueue queue_;
  std::vector<Message> announcements_;
  std::vector<Message> announced_;  // Kept to reuse its memory.
  absl::Status protocol_error_;

  StepDetector steps_;
  std::uint32_t next_run_ = 1;
  std::optional<std::uint32_t> cycle_run_;  // Set while a cycle is in force.
  Cycle cycle_;                             // The current or last cycle.
  std::deque<std::vector<Record>> cycle_parts_;  // Not yet cut.
  bool is_halting_ = false;
  std::optional<Tuner> tuner_;
  std::optional<Cycle>
      next_cycle_;  // Takes the place of cycle_ at its resumption.
  std::uint64_t steps_of_cycle_ = 0;  // Followed, over all interruptions.

  bool is_leaving_ = false;
  bool all_left_ = false;
};

}  // namespace hvd::coordinator
