// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/coordinator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/coordinator_parts.h"
#include "horovodpp/core/job/suspects.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {
namespace {

ProcessSets first_sets(const Coordinator::Options& options) {
  ProcessSets sets(options.tree->all_ranks());
  ProcessSetId next = 1;
  for (const std::vector<int>& ranks : options.process_sets) {
    sets.add(next++, ranks);
  }
  return sets;
}

RootScheduler::Options scheduler_options(const Coordinator::Options& options) {
  const FusionOptions fusion = {.threshold = options.fusion_threshold,
                                .max_batch = kMaxAppend,
                                .fuse_groups = options.fuse_groups};
  std::optional<Tuner::Options> tuning;
  if (options.tuning_steps > 0) {
    tuning = options.tuning;
    tuning->fusion = fusion;
  }
  return {.capacity = options.cache_capacity,
          .fusion = fusion,
          .hold_back = options.hold_back,
          .steps_before_schedule = options.steps_before_schedule,
          .strict_join = options.strict_join,
          .tuning = std::move(tuning)};
}

}  // namespace

Coordinator::Coordinator(const Options& options, NodeBoard& board,
                         const Clock& clock)
    : rank_(options.rank),
      epoch_(options.epoch),
      slots_(options.cache_capacity),
      shared_copy_(options.shared_copy),
      tuning_steps_(options.tuning_steps),
      seconds_per_tick_(options.seconds_per_tick),
      owned_tree_(options.tree),
      tree_(*owned_tree_),
      node_(tree_.node_of(options.rank)),
      board_(board),
      clock_(clock),
      describe_(options.describe),
      explain_silence_(options.explain_silence),
      protocol_({.rank = options.rank,
                 .tree = options.tree,
                 .stall_warning = options.stall_warning,
                 .stall_shutdown = options.stall_shutdown,
                 .describe = options.describe,
                 .meter = {.steps = options.tuning_steps,
                           .seconds_per_tick = options.seconds_per_tick}},
                first_sets(options), board),
      silence_(tree_, options.rank, options.stall_warning,
               options.stall_shutdown),
      outbox_(options.epoch) {
  if (is_leader()) {
    leader_ = std::make_unique<LeaderPart>(LeaderPart{
        .subtree = Subtree(options.tree, node_, first_sets(options)),
        .stall_gatherer =
            StallGatherer(options.tree, node_, options.explain_silence)});
  }
  if (is_root()) {
    root_ = std::make_unique<RootPart>(RootPart{
        .scheduler =
            RootScheduler(scheduler_options(options), first_sets(options)),
        .stall_inspector =
            StallInspector(options.stall_warning, options.stall_shutdown)});
  }
}

Coordinator::~Coordinator() = default;

void Coordinator::submit(const Request& request) {
  protocol_.submit(request, clock_.now());
}

Clock::TimePoint Coordinator::submit(std::span<Submission* const> submissions) {
  const Clock::TimePoint now = clock_.now();
  protocol_.submit(submissions, now);
  return now;
}

absl::Status Coordinator::report(std::string bytes) {
  Report mine{.rank = rank_, .bytes = std::move(bytes)};
  if (is_leader()) return send_up(std::move(mine));
  outbox_.send(tree_.leader_of(node_), std::move(mine));
  return absl::OkStatus();
}

std::vector<Report> Coordinator::take_reports() {
  return root_ == nullptr ? std::vector<Report>()
                          : std::exchange(root_->reports, {});
}

Tuner* Coordinator::tuner() {
  return root_ == nullptr ? nullptr : root_->scheduler.tuner();
}

void Coordinator::note_execution(const Batch& batch, std::uint64_t began,
                                 std::uint64_t ended) {
  protocol_.executed(batch, began, ended);
  // In a cycle a batch also waits for ranks that come later.
  if (root_ == nullptr || batch.cycle != 0) return;
  root_->scheduler.tuner()->ran(
      batch, seconds_per_tick_() * static_cast<double>(ended - began));
}

std::string Coordinator::described(int rank) const {
  return describe_ ? describe_(rank) : absl::StrCat("rank ", rank);
}

absl::Status Coordinator::schedule(std::vector<Record> records) {
  // Definitions take the same path, so they have arrived before.
  if (!protocol_.may_be_read(records)) {
    return absl::InvalidArgumentError(
        "the schedule names an operation that was not defined");
  }
  // Take completions from before the end of a cycle now: they do not count.
  HVD_RETURN_IF_ERROR(collect_completed());
  // Count before any rank or child can act on the records.
  leader_->subtree.scheduled(
      records, [this](std::uint32_t id) { return protocol_.definition(id); });
  leader_->unwritten.push_back(std::move(records));
  return absl::OkStatus();
}

// Leader: takes the completed ids off the board.
absl::Status Coordinator::collect_completed() {
  while (const auto id = board_.next_completed()) {
    const Define* definition = protocol_.definition(*id);
    if (definition == nullptr) continue;  // Retired in the meantime.
    HVD_RETURN_IF_ERROR(leader_->subtree.complete_here(
        *id, definition->request->key.process_set));
  }
  return absl::OkStatus();
}

absl::Status Coordinator::step(Clock::TimePoint now) {
  if (protocol_.is_due(now)) protocol_.report_stalls(now);
  if (protocol_.has_messages()) HVD_RETURN_IF_ERROR(send_messages(now));
  if (silence_.is_due(now)) HVD_RETURN_IF_ERROR(check_silence(now));
  if (protocol_.take_leader_is_wanted()) bells_.leader = true;
  return leader_ == nullptr ? absl::OkStatus() : step_as_leader(now);
}

// Sends this rank's messages.
absl::Status Coordinator::send_messages(Clock::TimePoint now) {
  for (Message& message : protocol_.take_messages()) {
    if (const auto* stalled = std::get_if<Stalled>(&message);
        stalled != nullptr && stalled->asker < 0) {
      silence_.reported(*stalled, now);
    }
    if (is_leader()) {
      HVD_RETURN_IF_ERROR(receive_from_below(rank_, std::move(message)));
    } else {
      outbox_.send(tree_.leader_of(node_), message);
    }
  }
  return absl::OkStatus();
}

// The leader's part of a step.
absl::Status Coordinator::step_as_leader(Clock::TimePoint now) {
  HVD_RETURN_IF_ERROR(collect_completed());
  if (leader_->subtree.has_messages()) HVD_RETURN_IF_ERROR(forward_subtree());
  if (leader_->stall_gatherer.is_asking()) {
    for (Inspected& answers : leader_->stall_gatherer.take(now)) {
      HVD_RETURN_IF_ERROR(send_up(std::move(answers)));
    }
  }
  if (root_ != nullptr) {
    // Clear the flag first: the root decides below about everything read so
    // far.
    protocol_.take_has_read();
    if (root_->has_work()) HVD_RETURN_IF_ERROR(extend_schedule(now));
  }
  if (!leader_->unwritten.empty()) write_schedule();
  return absl::OkStatus();
}

// The root extends the schedule.
absl::Status Coordinator::extend_schedule(Clock::TimePoint now) {
  // While this rank waits in a collective, submissions can gather into larger
  // batches. With other nodes or process sets, do not keep these waiting.
  const bool ahead = tree_.nodes() > 1 || protocol_.process_sets().count() > 1;
  while (true) {
    const bool is_idle =
        leader_->unwritten.empty() && protocol_.may_be_given_more(ahead);
    std::vector<Record> records = root_->scheduler.cut(now, is_idle);
    if (records.empty()) break;
    HVD_RETURN_IF_ERROR(receive_from_above(Round{std::move(records)}));
    write_schedule();
  }
  // Send Closed last, so that every node has the whole schedule before.
  if (root_->scheduler.finished() && !root_->has_announced_closed) {
    root_->has_announced_closed = true;
    return receive_from_above(Closed{});
  }
  return absl::OkStatus();
}

void Coordinator::write_schedule() {
  auto& unwritten = leader_->unwritten;
  while (!unwritten.empty() && board_.append(unwritten.front())) {
    unwritten.pop_front();
    bells_.node = true;
  }
}

bool Coordinator::wants_step() const {
  if (protocol_.has_changes()) return true;
  if (is_leader() && leader_->subtree.has_messages()) return true;
  return is_root() && protocol_.has_read() && root_->scheduler.has_queued();
}

std::optional<Clock::TimePoint> Coordinator::due() const {
  std::optional<Clock::TimePoint> due = protocol_.due();
  const auto at_most = [&due](std::optional<Clock::TimePoint> other) {
    if (other && (!due || *other < *due)) due = other;
  };
  at_most(silence_.due());
  if (leader_ != nullptr && leader_->stall_gatherer.is_asking()) {
    at_most(leader_->stall_gatherer.due());
  }
  if (is_root()) at_most(root_->scheduler.held_until());
  return due;
}

Bells Coordinator::take_bells() { return std::exchange(bells_, {}); }

std::vector<std::string> Coordinator::take_warnings() {
  return std::exchange(warnings_, {});
}

std::vector<int> Coordinator::neighbours() const {
  std::vector<int> leaders;
  if (tree_.parent(node_) != Tree::kNone) {
    leaders.push_back(tree_.leader_of(tree_.parent(node_)));
  }
  for (const int child : tree_.children(node_)) {
    leaders.push_back(tree_.leader_of(child));
  }
  return leaders;
}

std::vector<Outgoing> Coordinator::break_mail(const absl::Status& why) const {
  const Break message = {.why = std::string(why.message()),
                         .suspects = suspects_of(why),
                         .kind = failure_kind_of(why)};
  std::vector<Outgoing> mail;
  for (const int leader : neighbours()) {
    mail.push_back({leader, encode(epoch_, message)});
  }
  return mail;
}

Outgoing Coordinator::beat_mail(int to) const {
  return {to, encode(epoch_, Beat{})};
}

bool Coordinator::has_sent_all() const {
  return protocol_.has_ended() && (!is_leader() || leader_->unwritten.empty());
}

}  // namespace hvd::coordinator
