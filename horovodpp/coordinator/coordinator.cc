// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/coordinator.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/message.h"
#include "horovodpp/coordinator/message_checks.h"
#include "horovodpp/coordinator/rank_protocol.h"
#include "horovodpp/coordinator/root_scheduler.h"
#include "horovodpp/coordinator/stall_inspector.h"
#include "horovodpp/coordinator/subtree.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/suspects.h"

namespace hvd::coordinator {
namespace {

// Bytes. A receiver can process a full letter while the sender writes the next.
constexpr std::size_t kMostOfLetter = std::size_t{16} << 10;

ProcessSets first_sets(const Coordinator::Options& options) {
  ProcessSets sets(options.tree->all_ranks());
  ProcessSetId next = 1;
  for (const std::vector<int>& ranks : options.process_sets) {
    sets.add(next++, ranks);
  }
  return sets;
}

}  // namespace

// State that only leaders have.
struct Coordinator::LeaderPart {
  LeaderPart(const Options& options, int node, const ProcessSets& sets)
      : subtree(options.tree, node, sets),
        stall_gatherer(options.tree, node, options.remark) {}

  Subtree subtree;
  StallGatherer stall_gatherer;
  // Schedule records that are not yet on the board.
  std::deque<std::vector<Record>> unwritten = {};
};

// State that only the root has.
struct Coordinator::RootPart {
  RootPart(const Options& options, const ProcessSets& sets)
      : scheduler({.capacity = options.cache_capacity,
                   .fusion = {.threshold = options.fusion_threshold,
                              .max_batch = kMaxAppend,
                              .fuse_groups = options.fuse_groups},
                   .hold_back = options.hold_back,
                   .steps_before_schedule = options.steps_before_schedule,
                   .strict_join = options.strict_join},
                  sets),
        stall_inspector(options.stall_warning, options.stall_shutdown) {}

  RootScheduler scheduler;
  StallInspector stall_inspector;
  bool has_said_closed = false;

  bool has_work() const {
    return scheduler.has_work() || (scheduler.finished() && !has_said_closed);
  }
};

Coordinator::Coordinator(const Options& options, NodeBoard& board,
                         const Clock& clock)
    : rank_(options.rank),
      epoch_(options.epoch),
      slots_(options.cache_capacity),
      shared_copy_(options.shared_copy),
      tree_keeper_(options.tree),
      tree_(*tree_keeper_),
      node_(tree_.node_of(options.rank)),
      board_(board),
      clock_(clock),
      describe_(options.describe),
      remark_(options.remark),
      protocol_({.rank = options.rank,
                 .tree = options.tree,
                 .stall_warning = options.stall_warning,
                 .stall_shutdown = options.stall_shutdown,
                 .describe = options.describe},
                first_sets(options), board),
      silence_(tree_, options.rank, options.stall_warning,
               options.stall_shutdown) {
  if (is_leader()) {
    leader_ = std::make_unique<LeaderPart>(options, node_, first_sets(options));
  }
  if (is_root()) {
    root_ = std::make_unique<RootPart>(options, first_sets(options));
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

absl::Status Coordinator::receive(int from, std::string_view letter) {
  do {
    absl::StatusOr<Envelope> envelope = decode_first(letter);
    if (envelope.ok() && envelope->epoch != epoch_) continue;
    if (envelope.ok()) {
      if (const auto* broken = std::get_if<Break>(&envelope->message)) {
        return with_suspects(absl::AbortedError(broken->why), broken->suspects);
      }
    }
    const absl::Status status =
        envelope.ok() ? deliver(from, std::move(envelope->message))
                      : envelope.status();
    if (!status.ok()) {
      return annotate(status, absl::StrCat("mail from rank ", from));
    }
  } while (!letter.empty());
  return absl::OkStatus();
}

absl::Status Coordinator::deliver(int from, Message message) {
  HVD_RETURN_IF_ERROR(
      check_message(message, {.ranks = tree_.ranks(), .slots = slots_}));
  switch (direction_of(message)) {
    case Direction::kAny:
      return absl::OkStatus();  // The arrival itself is the information.
    case Direction::kUp:
      return from_below(from, std::move(message));
    case Direction::kDown:
      break;
  }
  const int above = !is_leader() ? tree_.leader_of(node_)
                    : is_root()  ? Tree::kNone
                                 : tree_.leader_of(tree_.parent(node_));
  if (from != above) {
    return absl::InvalidArgumentError(
        "a message came down the tree from a rank that is not above this one");
  }
  return from_above(std::move(message));
}

void Coordinator::send(int to, const Message& message) {
  write(message);
  put_into_letter(to);
}

void Coordinator::write(const Message& message) {
  written_.clear();
  encode(epoch_, message, written_);
}

// Appends to the letter that is open for rank `to`, so order is kept.
void Coordinator::put_into_letter(int to) {
  std::size_t at = next_open_ < open_.size() ? next_open_ : 0;
  if (at == open_.size() || open_[at].to != to) {
    at = 0;
    while (at < open_.size() && open_[at].to != to) ++at;
  }
  if (at == open_.size()) open_.push_back({to, {}});
  next_open_ = at + 1;
  std::string& letter = open_[at].bytes;
  const std::string_view message = written_.view();
  if (!letter.empty() && letter.size() + message.size() > kMostOfLetter) {
    outgoing_.push_back({to, std::exchange(letter, {})});
  }
  letter += message;
}

absl::Status Coordinator::from_below(int from, Message message) {
  if (!is_leader()) {
    return absl::InvalidArgumentError(
        "a message for a leader reached a rank that leads no node");
  }
  // Report earlier completions first.
  HVD_RETURN_IF_ERROR(collect());
  if (const auto* stalled = std::get_if<Stalled>(&message)) {
    return up(*stalled);
  }
  if (const auto* answer = std::get_if<Inspected>(&message)) {
    return leader_->stall_gatherer.receive(from, *answer);
  }
  HVD_RETURN_IF_ERROR(leader_->subtree.receive(from, std::move(message)));
  return pass_on();
}

// Sends the messages of the whole subtree to the parent.
absl::Status Coordinator::pass_on() {
  while (leader_->subtree.has_messages()) {
    for (Message& message : leader_->subtree.take_messages()) {
      HVD_RETURN_IF_ERROR(up(std::move(message)));
    }
  }
  return absl::OkStatus();
}

absl::Status Coordinator::up(Message message) {
  if (!is_root()) {
    send(tree_.leader_of(tree_.parent(node_)), message);
    return absl::OkStatus();
  }
  if (const auto* stalled = std::get_if<Stalled>(&message)) {
    const auto question =
        root_->stall_inspector.stalled(*stalled, clock_.now());
    return question ? from_above(*question) : absl::OkStatus();
  }
  if (const auto* found = std::get_if<Inspected>(&message)) {
    return report(*found);
  }
  HVD_RETURN_IF_ERROR(root_->scheduler.receive(std::move(message)));
  return announce();
}

absl::Status Coordinator::announce() {
  if (root_->scheduler.take_is_full() && slots_ > 0) {
    warnings_.push_back(absl::StrCat(
        "this job names more than ", slots_,
        " tensors: from now on each new name takes the place of the one that "
        "was used least recently, which is agreed on anew when it comes back; "
        "name fewer, or set HOROVOD_CACHE_CAPACITY higher"));
  }
  for (Message& message : root_->scheduler.take_announcements()) {
    HVD_RETURN_IF_ERROR(from_above(std::move(message)));
  }
  return absl::OkStatus();
}

absl::Status Coordinator::report(const Inspected& found) {
  const auto finding = root_->stall_inspector.answered(found);
  if (!finding) return absl::OkStatus();
  std::vector<int> suspects;
  for (const RankState& state : found.missing) {
    if (!state.answers) suspects.push_back(state.rank);
  }
  return conclude(stall_text(finding->key, finding->waited_ms, found,
                             [this](int rank) { return described(rank); }),
                  suspects, finding->is_fatal);
}

// Checks that the ranks that would ask about stalls are still alive.
absl::Status Coordinator::listen(Clock::TimePoint now) {
  const auto finding = silence_.take(now);
  if (!finding) return absl::OkStatus();
  const bool is_here = tree_.node_of(finding->rank) == node_;
  const std::string remark =
      is_here && remark_ ? remark_(finding->rank) : std::string();
  return conclude(silence_text(*finding, described(finding->rank), remark),
                  {finding->rank}, finding->is_fatal);
}

absl::Status Coordinator::conclude(const std::string& text,
                                   const std::vector<int>& suspects,
                                   bool is_fatal) {
  if (is_fatal) {
    return with_suspects(absl::AbortedError(absl::StrCat(
                             "the job has stalled, and is given up: ", text)),
                         suspects);
  }
  warnings_.push_back(text);
  return absl::OkStatus();
}

std::string Coordinator::described(int rank) const {
  return describe_ ? describe_(rank) : absl::StrCat("rank ", rank);
}

absl::Status Coordinator::from_above(Message message) {
  if (is_leader()) {
    auto* const round = std::get_if<Round>(&message);
    const std::vector<int>& here = tree_.ranks_of(node_);
    const auto& children = tree_.children(node_);
    if (!children.empty() || (round == nullptr && here.size() > 1)) {
      write(message);
    }
    for (const int child : children) put_into_letter(tree_.leader_of(child));
    if (round != nullptr) return schedule(std::move(round->records));
    for (const int rank : here) {
      if (rank != rank_) put_into_letter(rank);
    }
  }
  return take(std::move(message));
}

absl::Status Coordinator::take(Message message) {
  if (auto* define = std::get_if<Define>(&message)) {
    if (shared_copy_) define->request = shared_copy_(define->request);
    if (is_leader()) leader_->subtree.defined(*define);
    return protocol_.define(*define);
  }
  if (const auto* reject = std::get_if<Reject>(&message)) {
    return protocol_.reject(*reject);
  }
  if (const auto* halt = std::get_if<Halt>(&message)) {
    protocol_.halt(*halt);
    return absl::OkStatus();
  }
  if (const auto* question = std::get_if<Inspect>(&message)) {
    return answer(*question);
  }
  if (std::holds_alternative<Closed>(message)) {
    closed_ = true;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "a message for a leader reached a rank that leads no node");
}

absl::Status Coordinator::answer(const Inspect& question) {
  const Clock::TimePoint now = clock_.now();
  silence_.heard(now);
  const Inspected mine =
      answer_of(question.query, protocol_.state(question.key, now),
                protocol_.is_member(question.key.process_set));
  if (!is_leader()) {
    send(tree_.leader_of(node_), mine);
    return absl::OkStatus();
  }
  leader_->stall_gatherer.begin(question.query, now);
  return leader_->stall_gatherer.receive(rank_, mine);
}

absl::Status Coordinator::schedule(std::vector<Record> records) {
  // Definitions take the same path, so they have arrived before.
  if (!protocol_.may_be_read(records)) {
    return absl::InvalidArgumentError(
        "the schedule names an operation that was not defined");
  }
  // Take completions from before the end of a cycle now: they do not count.
  HVD_RETURN_IF_ERROR(collect());
  // Count before any rank or child can act on the records.
  leader_->subtree.scheduled(
      records, [this](std::uint32_t id) { return protocol_.definition(id); });
  leader_->unwritten.push_back(std::move(records));
  return absl::OkStatus();
}

// Leader: takes the completed ids off the board.
absl::Status Coordinator::collect() {
  while (const auto id = board_.next_completed()) {
    const Define* definition = protocol_.definition(*id);
    if (definition == nullptr) continue;  // Retired in the meantime.
    HVD_RETURN_IF_ERROR(leader_->subtree.complete_here(
        *id, definition->request->key.process_set));
  }
  return absl::OkStatus();
}

absl::Status Coordinator::step(Clock::TimePoint now) {
  if (protocol_.is_due(now)) protocol_.look(now);
  if (protocol_.has_messages()) HVD_RETURN_IF_ERROR(say(now));
  if (silence_.is_due(now)) HVD_RETURN_IF_ERROR(listen(now));
  if (protocol_.take_leader_is_wanted()) bells_.leader = true;
  return leader_ == nullptr ? absl::OkStatus() : lead(now);
}

// Sends this rank's messages.
absl::Status Coordinator::say(Clock::TimePoint now) {
  for (Message& message : protocol_.take_messages()) {
    if (const auto* stalled = std::get_if<Stalled>(&message)) {
      silence_.said(*stalled, now);
    }
    if (is_leader()) {
      HVD_RETURN_IF_ERROR(from_below(rank_, std::move(message)));
    } else {
      send(tree_.leader_of(node_), message);
    }
  }
  return absl::OkStatus();
}

// The leader's part of a step.
absl::Status Coordinator::lead(Clock::TimePoint now) {
  HVD_RETURN_IF_ERROR(collect());
  if (leader_->subtree.has_messages()) HVD_RETURN_IF_ERROR(pass_on());
  if (leader_->stall_gatherer.is_asking()) {
    for (Inspected& answers : leader_->stall_gatherer.take(now)) {
      HVD_RETURN_IF_ERROR(up(std::move(answers)));
    }
  }
  if (root_ != nullptr) {
    // Clear the flag first: the root decides below about everything read so
    // far.
    protocol_.take_has_read();
    if (root_->has_work()) HVD_RETURN_IF_ERROR(rule(now));
  }
  if (!leader_->unwritten.empty()) write_schedule();
  return absl::OkStatus();
}

// The root extends the schedule.
absl::Status Coordinator::rule(Clock::TimePoint now) {
  // While this rank waits in a collective, submissions can gather into larger
  // batches. With other nodes or process sets, do not keep these waiting.
  const bool ahead = tree_.nodes() > 1 || protocol_.process_sets().count() > 1;
  while (true) {
    const bool is_idle =
        leader_->unwritten.empty() && protocol_.may_be_given_more(ahead);
    std::vector<Record> records = root_->scheduler.cut(now, is_idle);
    if (records.empty()) break;
    HVD_RETURN_IF_ERROR(from_above(Round{std::move(records)}));
    write_schedule();
  }
  // Send Closed last, so that every node has the whole schedule before.
  if (root_->scheduler.finished() && !root_->has_said_closed) {
    root_->has_said_closed = true;
    return from_above(Closed{});
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
  if (protocol_.has_news()) return true;
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

std::vector<Outgoing> Coordinator::take_outgoing() {
  std::move(open_.begin(), open_.end(), std::back_inserter(outgoing_));
  open_.clear();
  return std::exchange(outgoing_, {});
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
                         .suspects = suspects_of(why)};
  std::vector<Outgoing> mail;
  for (const int leader : neighbours()) {
    mail.push_back({leader, encode(epoch_, message)});
  }
  return mail;
}

Outgoing Coordinator::beat_mail(int to) const {
  return {to, encode(epoch_, Beat{})};
}

bool Coordinator::owes_nothing() const {
  return protocol_.has_ended() && (!is_leader() || leader_->unwritten.empty());
}

}  // namespace hvd::coordinator
