// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/coordinator.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/inquiry.h"
#include "horovodpp/coordinator/message.h"
#include "horovodpp/coordinator/message_checks.h"
#include "horovodpp/coordinator/negotiator.h"
#include "horovodpp/coordinator/registrar.h"
#include "horovodpp/coordinator/subtree.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/suspects.h"

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

}  // namespace

// What a leader has besides.
struct Coordinator::Leading {
  Leading(const Options& options, int node, const ProcessSets& sets)
      : subtree(options.tree, node, sets),
        inquiry(options.tree, node, options.remark) {}

  Subtree subtree;
  Inquiry inquiry;
  // Of the schedule, not yet written to the board.
  std::deque<std::vector<Record>> unwritten = {};
};

// What the root has besides.
struct Coordinator::Ruling {
  Ruling(const Options& options, const ProcessSets& sets)
      : registrar({.capacity = options.cache_capacity,
                   .fusion = {.threshold = options.fusion_threshold,
                              .max_batch = kMaxAppend,
                              .fuse_groups = options.fuse_groups},
                   .hold_back = options.hold_back,
                   .steps_before_schedule = options.steps_before_schedule},
                  sets),
        inquirer(options.stall_warning, options.stall_shutdown) {}

  Registrar registrar;
  Inquirer inquirer;
  bool has_said_closed = false;
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
      negotiator_({.rank = options.rank,
                   .tree = options.tree,
                   .stall_warning = options.stall_warning,
                   .stall_shutdown = options.stall_shutdown,
                   .describe = options.describe},
                  first_sets(options), board),
      silence_(tree_, options.rank, options.stall_warning,
               options.stall_shutdown) {
  if (is_leader()) {
    leading_ = std::make_unique<Leading>(options, node_, first_sets(options));
  }
  if (is_root()) {
    ruling_ = std::make_unique<Ruling>(options, first_sets(options));
  }
}

Coordinator::~Coordinator() = default;

void Coordinator::submit(const Request& request) {
  negotiator_.submit(request, clock_.now());
}

absl::Status Coordinator::receive(int from, const std::string& bytes) {
  absl::StatusOr<Envelope> envelope = decode(bytes);
  if (!envelope.ok()) {
    return annotate(envelope.status(), absl::StrCat("mail from rank ", from));
  }
  if (envelope->epoch != epoch_) return absl::OkStatus();
  if (const auto* broken = std::get_if<Break>(&envelope->message)) {
    return with_suspects(absl::AbortedError(broken->why), broken->suspects);
  }
  return annotate(deliver(from, std::move(envelope->message)),
                  absl::StrCat("mail from rank ", from));
}

absl::Status Coordinator::deliver(int from, Message message) {
  HVD_RETURN_IF_ERROR(
      check_message(message, {.ranks = tree_.ranks(), .slots = slots_}));
  switch (direction_of(message)) {
    case Direction::kAny:
      return absl::OkStatus();  // That it came says all.
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
        "a message came down the tree by a way that is none");
  }
  return from_above(std::move(message));
}

void Coordinator::send(int to, const Message& message) {
  outgoing_.push_back({to, encode(epoch_, message)});
}

absl::Status Coordinator::from_below(int from, Message message) {
  if (!is_leader()) {
    return absl::InvalidArgumentError(
        "a message for a leader came to another rank");
  }
  // What was complete here before is told before.
  HVD_RETURN_IF_ERROR(collect());
  if (const auto* stalled = std::get_if<Stalled>(&message)) {
    return up(*stalled);
  }
  if (const auto* answer = std::get_if<Inspected>(&message)) {
    return leading_->inquiry.receive(from, *answer);
  }
  HVD_RETURN_IF_ERROR(leading_->subtree.receive(from, std::move(message)));
  return pass_on();
}

// What the whole subtree has said goes to the parent.
absl::Status Coordinator::pass_on() {
  while (leading_->subtree.has_messages()) {
    for (Message& message : leading_->subtree.take_messages()) {
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
    const auto question = ruling_->inquirer.stalled(*stalled, clock_.now());
    return question ? from_above(*question) : absl::OkStatus();
  }
  if (const auto* found = std::get_if<Inspected>(&message)) {
    return report(*found);
  }
  HVD_RETURN_IF_ERROR(ruling_->registrar.receive(std::move(message)));
  return announce();
}

absl::Status Coordinator::announce() {
  for (Message& message : ruling_->registrar.take_announcements()) {
    HVD_RETURN_IF_ERROR(from_above(std::move(message)));
  }
  return absl::OkStatus();
}

absl::Status Coordinator::report(const Inspected& found) {
  const auto finding = ruling_->inquirer.answered(found);
  if (!finding) return absl::OkStatus();
  std::vector<int> suspects;
  for (const RankState& state : found.missing) {
    if (!state.answers) suspects.push_back(state.rank);
  }
  return conclude(stall_text(finding->key, finding->waited_ms, found,
                             [this](int rank) { return described(rank); }),
                  suspects, finding->is_fatal);
}

// Whether those who would inquire are there.
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
    for (const int child : tree_.children(node_)) {
      send(tree_.leader_of(child), message);
    }
    if (auto* round = std::get_if<Round>(&message)) {
      return schedule(std::move(round->records));
    }
    for (const int rank : tree_.ranks_of(node_)) {
      if (rank != rank_) send(rank, message);
    }
  }
  return take(std::move(message));
}

absl::Status Coordinator::take(Message message) {
  if (auto* define = std::get_if<Define>(&message)) {
    if (shared_copy_) define->request = shared_copy_(define->request);
    if (is_leader()) leading_->subtree.defined(*define);
    return negotiator_.define(*define);
  }
  if (const auto* reject = std::get_if<Reject>(&message)) {
    return negotiator_.reject(*reject);
  }
  if (const auto* halt = std::get_if<Halt>(&message)) {
    negotiator_.halt(*halt);
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
      "a message for a leader came to another rank");
}

absl::Status Coordinator::answer(const Inspect& question) {
  const Clock::TimePoint now = clock_.now();
  silence_.heard(now);
  const Inspected mine =
      answer_of(question.query, negotiator_.state(question.key, now),
                negotiator_.is_member(question.key.process_set));
  if (!is_leader()) {
    send(tree_.leader_of(node_), mine);
    return absl::OkStatus();
  }
  leading_->inquiry.begin(question.query, now);
  return leading_->inquiry.receive(rank_, mine);
}

absl::Status Coordinator::schedule(std::vector<Record> records) {
  // Definitions come by the same way, so they are here.
  if (!negotiator_.may_be_read(records)) {
    return absl::InvalidArgumentError(
        "the schedule goes on with what was not defined");
  }
  // What marks of before the end of a cycle have completed is not counted.
  HVD_RETURN_IF_ERROR(collect());
  // Counted before any rank or child can act on it.
  leading_->subtree.scheduled(
      records, [this](std::uint32_t id) { return negotiator_.definition(id); });
  leading_->unwritten.push_back(std::move(records));
  return absl::OkStatus();
}

// A leader takes note of what became complete on its node.
absl::Status Coordinator::collect() {
  while (const auto id = board_.next_completed()) {
    const Define* definition = negotiator_.definition(*id);
    if (definition == nullptr) continue;  // It has been retired meanwhile.
    HVD_RETURN_IF_ERROR(leading_->subtree.complete_here(
        *id, definition->request->key.process_set));
  }
  return absl::OkStatus();
}

absl::Status Coordinator::step() {
  const Clock::TimePoint now = clock_.now();
  negotiator_.look(now);
  for (Message& message : negotiator_.take_messages()) {
    if (const auto* stalled = std::get_if<Stalled>(&message)) {
      silence_.said(*stalled, now);
    }
    if (is_leader()) {
      HVD_RETURN_IF_ERROR(from_below(rank_, std::move(message)));
    } else {
      send(tree_.leader_of(node_), message);
    }
  }
  HVD_RETURN_IF_ERROR(listen(now));
  if (negotiator_.take_leader_is_wanted()) bells_.leader = true;
  if (!is_leader()) return absl::OkStatus();
  HVD_RETURN_IF_ERROR(collect());
  HVD_RETURN_IF_ERROR(pass_on());
  for (Inspected& answers : leading_->inquiry.take(now)) {
    HVD_RETURN_IF_ERROR(up(std::move(answers)));
  }
  if (is_root()) HVD_RETURN_IF_ERROR(rule(now));
  write_schedule();
  return absl::OkStatus();
}

// The root goes on with the schedule.
absl::Status Coordinator::rule(Clock::TimePoint now) {
  negotiator_.take_has_read();
  // While this rank waits in a collective batches form; but other nodes, and
  // other process sets, are not kept waiting by it.
  const bool ahead =
      tree_.nodes() > 1 || negotiator_.process_sets().count() > 1;
  while (true) {
    const bool is_idle =
        leading_->unwritten.empty() && negotiator_.may_be_given_more(ahead);
    std::vector<Record> records = ruling_->registrar.cut(now, is_idle);
    if (records.empty()) break;
    HVD_RETURN_IF_ERROR(from_above(Round{std::move(records)}));
    write_schedule();
  }
  // Last of all, so that every node has the whole schedule by then.
  if (ruling_->registrar.finished() && !ruling_->has_said_closed) {
    ruling_->has_said_closed = true;
    return from_above(Closed{});
  }
  return absl::OkStatus();
}

void Coordinator::write_schedule() {
  auto& unwritten = leading_->unwritten;
  while (!unwritten.empty() && board_.append(unwritten.front())) {
    unwritten.pop_front();
    bells_.node = true;
  }
}

bool Coordinator::wants_step() const {
  if (negotiator_.has_news()) return true;
  if (is_leader() && leading_->subtree.has_messages()) return true;
  return is_root() && negotiator_.has_read() && ruling_->registrar.has_queued();
}

std::optional<Clock::TimePoint> Coordinator::due() const {
  std::optional<Clock::TimePoint> due = negotiator_.due();
  const auto at_most = [&due](std::optional<Clock::TimePoint> other) {
    if (other && (!due || *other < *due)) due = other;
  };
  at_most(silence_.due());
  if (is_leader()) at_most(leading_->inquiry.due());
  if (is_root()) at_most(ruling_->registrar.held_until());
  return due;
}

absl::StatusOr<std::optional<Batch>> Coordinator::next_batch() {
  return negotiator_.next_batch();
}

std::vector<Outgoing> Coordinator::take_outgoing() {
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

bool Coordinator::closed() const {
  return closed_ && negotiator_.has_ended() &&
         (!is_leader() || leading_->unwritten.empty());
}

}  // namespace hvd::coordinator
