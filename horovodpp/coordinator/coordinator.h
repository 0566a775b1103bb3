// SPDX-License-Identifier: Apache-2.0
// A Coordinator is one rank's part in the job's agreement on what to execute
// next, and in which order. It is a pure state machine: submissions, mail and
// time go in; mail, batches and failures come out. The same code runs in the
// background thread of a Runtime and, by the thousands, in a simulation.
//
//   coordinator.submit(request);                 // as requests come up
//   coordinator.receive(from, bytes);            // as mail arrives
//   coordinator.step();
//   for (auto& mail : coordinator.take_outgoing()) send(mail.to, mail.bytes);
//   for (auto& failure : coordinator.take_failures()) ...
//   if (const Batch* batch = *coordinator.next_batch()) {
//     execute(*batch);        // meanwhile: receive, step, send as above,
//     coordinator.finished();     // and stop if should_abandon()
//   }
//
// docs/negotiation.md describes the protocol. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/failure/silence.h"
#include "horovodpp/coordinator/protocol/batch.h"
#include "horovodpp/coordinator/protocol/message.h"
#include "horovodpp/coordinator/protocol/node_board.h"
#include "horovodpp/coordinator/protocol/outbox.h"
#include "horovodpp/coordinator/protocol/process_sets.h"
#include "horovodpp/coordinator/protocol/tree.h"
#include "horovodpp/coordinator/rank_protocol.h"
#include "horovodpp/coordinator/root/tuner.h"
#include "horovodpp/core/thread/clock.h"

namespace hvd::coordinator {

// Doorbells to ring after writing to the board.
struct Bells {
  bool leader = false;
  bool node = false;
};

struct LeaderPart;
struct RootPart;

class Coordinator {
 public:
  static constexpr int kRoot = 0;

  // Returns a shared copy equal to the argument. Thousands of ranks in one
  // process can keep one copy of each agreed request.
  using ShareCopy = std::function<RequestPtr(RequestPtr)>;

  struct Options {
    int rank = 0;
    std::shared_ptr<const Tree> tree = {};
    std::uint32_t epoch = 0;
    // Process sets 1, 2, … that exist from the start; equal on all ranks.
    std::vector<std::vector<int>> process_sets = {};
    std::uint32_t cache_capacity = kDefaultSlots;
    std::size_t fusion_threshold = 128u << 20;
    Clock::Duration hold_back{0};
    bool fuse_groups = true;
    // The order is fixed after this many equal steps, until a rank leaves the
    // cycle. 0: never.
    int steps_before_schedule = 3;
    // Allow only allreduce while a rank has joined.
    bool strict_join = false;
    // How long a submission waits before the coordinator asks which ranks are
    // missing, and before the job fails. Zero: never.
    Clock::Duration stall_warning = std::chrono::seconds(60);
    Clock::Duration stall_shutdown = std::chrono::seconds(600);
    // `describe` names a rank with host and pid for messages. `explain_silence`
    // says why a silent rank of this node does not answer ("it is stopped").
    std::function<std::string(int rank)> describe = {};
    std::function<std::string(int rank)> explain_silence = {};
    ShareCopy shared_copy = {};
    // The batches of cycles are tuned after measurements of so many steps; 0:
    // they are not. Equal on all ranks.
    int tuning_steps = 0;
    // The root's part, whose `fusion` is ignored.
    Tuner::Options tuning = {};
    // Of the clock of executed().
    std::function<double()> seconds_per_tick = {};
  };

  Coordinator(const Options& options, NodeBoard& board, const Clock& clock);
  ~Coordinator();

  // This rank has submitted `request`, whose key is not in flight here.
  void submit(const Request& request);
  // The same for several submissions, which batches and failures then name.
  // Returns the time of submission.
  Clock::TimePoint submit(std::span<Submission* const> submissions);

  // A shortcut for the only submission in flight on this rank. Returns the
  // batch to execute if `mine` is the whole next batch of the cycle in force
  // and nothing must be done first; else nullptr. Changes no state.
  const Batch* lone_head(Submission& mine) { return protocol_.lone_head(mine); }
  // Submits `mine`, for which lone_head() returned a batch, and enters that
  // batch. The batch is executing until finished() or abandoned(), as after
  // next_batch().
  void enter_lone_head(Submission& mine) {
    protocol_.enter_lone_head(mine, clock_.recent());
  }
  // The caller waits longer than a moment.
  void begin_to_wait() { protocol_.begin_to_wait(clock_.now()); }

  // A caller on this rank blocks until the operation `key` completes.
  void wait_for(const Key& key) { protocol_.wait_for(key); }

  // Asks which ranks keep the operation `key` of this rank waiting. The answer,
  // with the caller's number `question`, comes out of take_answers(), unless a
  // rank on the way is silent.
  void ask(const Key& key, std::uint32_t question) {
    protocol_.ask(key, question, clock_.now());
  }
  struct Answer {
    std::uint32_t question = 0;
    std::string text = {};
  };
  std::vector<Answer> take_answers() { return std::exchange(answers_, {}); }
  bool has_answers() const { return !answers_.empty(); }

  // A caller gives up its wait, perhaps for a batch that this rank executes:
  // asks to leave the cycle, so that the batch is abandoned.
  void leave_cycle() { protocol_.stop_cycle(); }

  // This rank shuts down and submits nothing more.
  void leave() { protocol_.leave(); }

  // A letter from rank `from`. Letters of another epoch are dropped. Errors
  // break the job. Aborted carries the text of a peer's Break.
  absl::Status receive(int from, std::string_view letter);

  // Sends `bytes` to rank 0, whose take_reports() returns them. Reports of one
  // rank keep their order; those before leave() arrive before the job ends.
  absl::Status report(std::string bytes);
  // Reports of all ranks; rank 0 only.
  std::vector<Report> take_reports();

  // Moves decisions on: completions, scheduling and stalls. An error breaks the
  // job.
  absl::Status step() { return step(clock_.now()); }
  absl::Status step(Clock::TimePoint now);
  // Whether step() has new work since its last call.
  bool wants_step() const;
  // When step() next has work without further input.
  std::optional<Clock::TimePoint> due() const;

  // The next batch to execute, or nullptr. The batch is valid until finished()
  // or abandoned(); call next_batch() again only after that.
  absl::StatusOr<const Batch*> next_batch() { return protocol_.next_batch(); }
  // The batch given out was executed from `began` to `ended`, in ticks
  // (core/trace/ticks.h), and its submissions are still in flight. For the
  // tuner: batches of which it does not hear are not measured.
  void executed(const Batch& batch, std::uint64_t began, std::uint64_t ended) {
    const bool is_measured = batch.cycle == 0 || protocol_.measures_cycle();
    if (tuning_steps_ > 0 && is_measured) note_execution(batch, began, ended);
  }
  void finished() { protocol_.finished(); }
  // Whether to abandon the batch being executed, because a rank will never take
  // part. Its operations are then in flight again.
  bool should_abandon() const { return protocol_.should_abandon(); }
  // Number of submissions before this rank needs to act, unless a caller waits:
  // 1, or the submissions that the next batch of a cycle lacks.
  std::size_t submissions_to_next() const {
    return protocol_.submissions_to_next();
  }
  // Whether this rank follows a cycle from batch to batch, with no end in
  // sight.
  bool follows_cycle() const { return protocol_.follows_cycle(); }
  void abandoned() { protocol_.abandoned(); }

  // Whether take_outgoing(), take_bells() or take_warnings() has output.
  bool has_output() const {
    return !outbox_.is_empty() || bells_.leader || bells_.node ||
           !warnings_.empty();
  }
  std::vector<Outgoing> take_outgoing() { return outbox_.take(); }
  Bells take_bells();
  // Texts for this rank's log: which ranks are missing where.
  std::vector<std::string> take_warnings();
  bool has_failures() const { return protocol_.has_failures(); }
  std::vector<Failure> take_failures() { return protocol_.take_failures(); }

  // Leaders of the neighboring nodes in the tree. A rank that learns that the
  // job is broken tells them. Leaders send them beats.
  std::vector<int> neighbours() const;
  std::vector<Outgoing> break_mail(const absl::Status& why) const;
  Outgoing beat_mail(int to) const;

  // The root's tuner; nullptr: there is none on this rank.
  Tuner* tuner();

  // The process sets at the point where this rank reads the schedule.
  const ProcessSets& process_sets() const { return protocol_.process_sets(); }

  // The rank whose leaving ended the schedule, once this rank has read that.
  // Everything in flight or submitted later is Cancelled.
  std::optional<int> ended_by() const { return protocol_.ended_by(); }

  // Whether a submission of this rank is still pending.
  bool has_in_flight() const { return protocol_.has_in_flight(); }
  // Every rank has left, and this rank has read the whole schedule and sent all
  // its messages.
  bool closed() const { return closed_ && has_sent_all(); }

 private:
  bool is_root() const { return rank_ == kRoot; }
  bool is_leader() const { return rank_ == tree_.leader_of(node_); }
  bool has_sent_all() const;

  absl::Status deliver(int from, Message message);
  absl::Status receive_from_below(int from, Message message);
  absl::Status receive_from_above(Message message);
  absl::Status apply(Message message);
  absl::Status send_up(Message message);
  absl::Status forward_subtree();
  absl::Status announce();
  absl::Status answer_inspection(const Inspect& question);
  absl::Status report_stall(const Inspected& found);
  absl::Status check_silence(Clock::TimePoint now);
  absl::Status warn_or_abort(const std::string& text,
                             const std::vector<int>& suspects, bool is_fatal);
  std::string described(int rank) const;
  absl::Status schedule(std::vector<Record> records);
  absl::Status collect_completed();
  absl::Status send_messages(Clock::TimePoint now);
  absl::Status step_as_leader(Clock::TimePoint now);
  absl::Status extend_schedule(Clock::TimePoint now);
  void write_schedule();
  void note_execution(const Batch& batch, std::uint64_t began,
                      std::uint64_t ended);

  const int rank_;
  const std::uint32_t epoch_;
  const std::uint32_t slots_;
  const ShareCopy shared_copy_;
  const int tuning_steps_;
  const std::function<double()> seconds_per_tick_;
  const std::shared_ptr<const Tree> owned_tree_;
  const Tree& tree_;
  const int node_;
  NodeBoard& board_;
  const Clock& clock_;
  const std::function<std::string(int)> describe_;
  const std::function<std::string(int)> explain_silence_;
  RankProtocol protocol_;
  Silence silence_;
  std::unique_ptr<LeaderPart> leader_;  // Leaders only.
  std::unique_ptr<RootPart> root_;      // Root only.

  Outbox outbox_;
  Bells bells_;
  std::vector<std::string> warnings_;
  std::vector<Answer> answers_;
  bool closed_ = false;
};

}  // namespace hvd::coordinator
