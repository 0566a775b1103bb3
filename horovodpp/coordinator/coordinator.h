// SPDX-License-Identifier: Apache-2.0
// A Coordinator is one rank's part in the agreement of a job on what to execute
// next, and in which order. It is a pure state machine: submissions, mail and
// time go in; mail, batches and failures come out. It runs unchanged in the
// background thread of a Runtime and by the thousands in a simulation.
//
//   coordinator.submit(request);                 // as they come up
//   coordinator.receive(from, bytes);            // as it arrives
//   coordinator.step();
//   for (auto& mail : coordinator.take_outgoing()) send(mail.to, mail.bytes);
//   for (auto& failure : coordinator.take_failures()) ...
//   if (const Batch* batch = *coordinator.next_batch()) {
//     execute(*batch);        // while it waits: receive, step, send as above,
//     coordinator.finished();     // and give up if should_abandon()
//   }
//
// The protocol is told in docs/negotiation.md. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/batch.h"
#include "horovodpp/coordinator/message.h"
#include "horovodpp/coordinator/node_board.h"
#include "horovodpp/coordinator/process_sets.h"
#include "horovodpp/coordinator/rank_protocol.h"
#include "horovodpp/coordinator/silence.h"
#include "horovodpp/coordinator/tree.h"
#include "horovodpp/coordinator/wire.h"
#include "horovodpp/core/clock.h"

namespace hvd::coordinator {

struct Outgoing {
  int to = 0;
  std::string bytes;
};

// Whom to wake, for what was written to the board.
struct Bells {
  bool leader = false;
  bool node = false;
};

class Coordinator {
 public:
  static constexpr int kRoot = 0;

  // Ranks that live in one process by the thousand may keep one copy of what
  // they agree on: gives the one that is equal to the argument.
  using ShareCopy = std::function<RequestPtr(RequestPtr)>;

  struct Options {
    int rank = 0;
    std::shared_ptr<const Tree> tree = {};
    std::uint32_t epoch = 0;
    // Sets 1, 2, … that exist from the start; equal on all ranks.
    std::vector<std::vector<int>> process_sets = {};
    std::uint32_t cache_capacity = kDefaultSlots;
    std::size_t fusion_threshold = 128u << 20;
    Clock::Duration hold_back{0};
    bool fuse_groups = true;
    // After as many equal steps the order is fixed, until somebody leaves it;
    // 0: never.
    int steps_before_schedule = 3;
    // Whether ranks only allreduce while one of them has joined.
    bool strict_join = false;
    // How long a submission waits before somebody asks who is missing; zero:
    // nobody does. And before the job is given up; zero: never.
    Clock::Duration stall_warning = std::chrono::seconds(60);
    Clock::Duration stall_shutdown = std::chrono::seconds(600);
    // A rank with host and pid, for messages; and what is to be seen of a rank
    // of this node that does not answer ("it is stopped").
    std::function<std::string(int rank)> describe = {};
    std::function<std::string(int rank)> remark = {};
    ShareCopy shared_copy = {};
  };

  Coordinator(const Options& options, NodeBoard& board, const Clock& clock);
  ~Coordinator();

  // This rank has submitted `request`; its key is not in flight here.
  void submit(const Request& request);
  // The same of all of these, which batches and failures then name; when.
  Clock::TimePoint submit(std::span<Submission* const> submissions);

  // What a submission takes that is all this rank has in flight, where it is the whole
  // of what the cycle in force comes to next: the batch to execute; nullptr if it is
  // not so, or there is anything else to do first. Nothing has happened yet.
  const Batch* lone_head(Submission& mine) { return protocol_.lone_head(mine); }
  // Submits `mine`, for which there is a lone_head(), and enters that: it is executed
  // until finished() or abandoned(), as if next_batch() had given it.
  void enter_lone_head(Submission& mine) {
    protocol_.enter_lone_head(mine, clock_.recent());
  }
  // It takes longer than a moment.
  void begin_to_wait() { protocol_.begin_to_wait(clock_.now()); }

  // Somebody on this rank blocks until `key` has an outcome.
  void wait_for(const Key& key) { protocol_.wait_for(key); }

  // This rank shuts down: it submits nothing any more.
  void leave() { protocol_.leave(); }

  // A letter from rank `from`. An error breaks the job; a Break of a peer comes
  // back as Aborted with its text. What is of another epoch is dropped.
  absl::Status receive(int from, std::string_view letter);

  // Moves decisions on: what became complete, what is to be scheduled, what has
  // waited too long. An error breaks the job.
  absl::Status step() { return step(clock_.now()); }
  absl::Status step(Clock::TimePoint now);
  // Whether step() has something to say that came up since it was last called.
  bool wants_step() const;
  // When step() will have something to say by itself.
  std::optional<Clock::TimePoint> due() const;

  // The next batch to execute; nullptr if there is none. It is this rank's, and
  // lasts, until finished() or abandoned(); there is no other before.
  absl::StatusOr<const Batch*> next_batch() { return protocol_.next_batch(); }
  void finished() { protocol_.finished(); }
  // Whether the batch being executed has to be given up: a rank will never take
  // part in it. What it holds is then in flight as before.
  bool should_abandon() const { return protocol_.should_abandon(); }
  // How many submissions of this rank there have to be before they can matter,
  // unless somebody waits for one: 1, or what the next batch of a cycle lacks.
  std::size_t submissions_to_next() const {
    return protocol_.submissions_to_next();
  }
  // Whether this rank goes on from batch to batch as a cycle says, with no end of it
  // in sight.
  bool follows_cycle() const { return protocol_.follows_cycle(); }
  void abandoned() { protocol_.abandoned(); }

  // Whether there is anything to take of the first three of these.
  bool has_output() const {
    return !open_.empty() || bells_.leader || bells_.node || !warnings_.empty();
  }
  std::vector<Outgoing> take_outgoing();
  Bells take_bells();
  // Texts for the log of this rank: who is missing where.
  std::vector<std::string> take_warnings();
  bool has_failures() const { return protocol_.has_failures(); }
  std::vector<Failure> take_failures() { return protocol_.take_failures(); }

  // The leaders of the nodes next to this rank's in the tree: whoever hears that
  // the job is broken tells them, and leaders send them beats.
  std::vector<int> neighbours() const;
  std::vector<Outgoing> break_mail(const absl::Status& why) const;
  Outgoing beat_mail(int to) const;

  // As they are where this rank reads the schedule.
  const ProcessSets& process_sets() const { return protocol_.process_sets(); }

  // The rank whose leaving ended the schedule, once this rank has read that:
  // whatever it has in flight, or submits, is Cancelled.
  std::optional<int> ended_by() const { return protocol_.ended_by(); }

  // Whether something submitted here has no outcome yet.
  bool has_in_flight() const { return protocol_.has_in_flight(); }
  // Every rank has left, and this one has read the schedule to its end and owes
  // nobody anything.
  bool closed() const { return closed_ && owes_nothing(); }

 private:
  struct LeaderPart;
  struct RootPart;

  bool is_root() const { return rank_ == kRoot; }
  bool is_leader() const { return rank_ == tree_.leader_of(node_); }
  bool owes_nothing() const;

  absl::Status deliver(int from, Message message);
  absl::Status from_below(int from, Message message);
  absl::Status from_above(Message message);
  absl::Status take(Message message);
  absl::Status up(Message message);
  absl::Status pass_on();
  absl::Status announce();
  absl::Status answer(const Inspect& question);
  absl::Status report(const Inspected& found);
  absl::Status listen(Clock::TimePoint now);
  absl::Status conclude(const std::string& text,
                        const std::vector<int>& suspects, bool is_fatal);
  std::string described(int rank) const;
  absl::Status schedule(std::vector<Record> records);
  absl::Status collect();
  absl::Status say(Clock::TimePoint now);
  absl::Status lead(Clock::TimePoint now);
  absl::Status rule(Clock::TimePoint now);
  void write_schedule();
  void send(int to, const Message& message);
  void write(const Message& message);
  void put_into_letter(int to);

  const int rank_;
  const std::uint32_t epoch_;
  const std::uint32_t slots_;
  const ShareCopy shared_copy_;
  const std::shared_ptr<const Tree> tree_keeper_;
  const Tree& tree_;
  const int node_;
  NodeBoard& board_;
  const Clock& clock_;
  const std::function<std::string(int)> describe_;
  const std::function<std::string(int)> remark_;
  RankProtocol protocol_;
  Silence silence_;
  std::unique_ptr<LeaderPart> leader_;  // A leader's.
  std::unique_ptr<RootPart> root_;      // The root's.

  std::vector<Outgoing> outgoing_;  // Letters that are full,
  std::vector<Outgoing> open_;      // and one for each rank that is told more.
  std::size_t next_open_ = 0;       // To be tried first: ranks take turns.
  WireWriter written_;              // The message that goes into them.
  Bells bells_;
  std::vector<std::string> warnings_;
  bool closed_ = false;
};

}  // namespace hvd::coordinator
