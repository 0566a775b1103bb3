// SPDX-License-Identifier: Apache-2.0
// The messages of a Coordinator: those that arrive, and their way up and down
// the tree.
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/coordinator.h"
#include "horovodpp/coordinator/coordinator_parts.h"
#include "horovodpp/coordinator/protocol/message_checks.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/job/suspects.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {

absl::Status Coordinator::receive(int from, std::string_view letter) {
  do {
    absl::StatusOr<Envelope> envelope = decode_first(letter);
    if (envelope.ok() && envelope->epoch != epoch_) continue;
    if (envelope.ok()) {
      if (const auto* broken = std::get_if<Break>(&envelope->message)) {
        return with_failure_kind(
            with_suspects(absl::AbortedError(broken->why), broken->suspects),
            broken->kind);
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
      return receive_from_below(from, std::move(message));
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
  return receive_from_above(std::move(message));
}

absl::Status Coordinator::receive_from_below(int from, Message message) {
  if (!is_leader()) {
    return absl::InvalidArgumentError(
        "a message for a leader reached a rank that leads no node");
  }
  // Report earlier completions first.
  HVD_RETURN_IF_ERROR(collect_completed());
  if (const auto* stalled = std::get_if<Stalled>(&message)) {
    return send_up(*stalled);
  }
  if (const auto* answer = std::get_if<Inspected>(&message)) {
    return leader_->stall_gatherer.receive(from, *answer);
  }
  if (std::holds_alternative<Report>(message)) {
    return send_up(std::move(message));
  }
  HVD_RETURN_IF_ERROR(leader_->subtree.receive(from, std::move(message)));
  return forward_subtree();
}

// Sends the messages of the whole subtree to the parent.
absl::Status Coordinator::forward_subtree() {
  while (leader_->subtree.has_messages()) {
    for (Message& message : leader_->subtree.take_messages()) {
      HVD_RETURN_IF_ERROR(send_up(std::move(message)));
    }
  }
  return absl::OkStatus();
}

absl::Status Coordinator::send_up(Message message) {
  if (!is_root()) {
    outbox_.send(tree_.leader_of(tree_.parent(node_)), message);
    return absl::OkStatus();
  }
  if (const auto* stalled = std::get_if<Stalled>(&message)) {
    if (stalled->asker >= 0) {
      return receive_from_above(root_->stall_inspector.asked(*stalled));
    }
    const auto question =
        root_->stall_inspector.stalled(*stalled, clock_.now());
    return question ? receive_from_above(*question) : absl::OkStatus();
  }
  if (const auto* found = std::get_if<Inspected>(&message)) {
    return report_stall(*found);
  }
  if (auto* report = std::get_if<Report>(&message)) {
    root_->reports.push_back(std::move(*report));
    return absl::OkStatus();
  }
  HVD_RETURN_IF_ERROR(root_->scheduler.receive(std::move(message)));
  return announce();
}

absl::Status Coordinator::announce() {
  if (root_->scheduler.take_is_full() && slots_ > 0) {
    warnings_.push_back(absl::StrCat(
        "this job names more than ", slots_,
        " tensors. From now on each new name replaces the least recently used "
        "name, on which ranks agree again at its next use; name fewer tensors, "
        "or set HOROVOD_CACHE_CAPACITY higher"));
  }
  for (Message& message : root_->scheduler.take_announcements()) {
    HVD_RETURN_IF_ERROR(receive_from_above(std::move(message)));
  }
  return absl::OkStatus();
}

absl::Status Coordinator::report_stall(const Inspected& found) {
  const auto finding = root_->stall_inspector.answered(found);
  if (!finding) return absl::OkStatus();
  std::vector<int> suspects;
  for (const RankState& state : found.missing) {
    if (!state.answers) suspects.push_back(state.rank);
  }
  std::string text = stall_text(finding->key, finding->waited_ms, found,
                                [this](int rank) { return described(rank); });
  if (finding->asker >= 0) {
    return receive_from_above(Told{.asker = finding->asker,
                                   .question = finding->question,
                                   .text = std::move(text)});
  }
  return warn_or_abort(text, suspects, finding->is_fatal);
}

// Checks that the ranks that would ask about stalls are still alive.
absl::Status Coordinator::check_silence(Clock::TimePoint now) {
  const auto finding = silence_.take(now);
  if (!finding) return absl::OkStatus();
  const bool is_here = tree_.node_of(finding->rank) == node_;
  const std::string silence_cause = is_here && explain_silence_
                                        ? explain_silence_(finding->rank)
                                        : std::string();
  return warn_or_abort(
      silence_text(*finding, described(finding->rank), silence_cause),
      {finding->rank}, finding->is_fatal);
}

absl::Status Coordinator::warn_or_abort(const std::string& text,
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

absl::Status Coordinator::receive_from_above(Message message) {
  if (is_leader()) {
    auto* const round = std::get_if<Round>(&message);
    const std::vector<int>& here = tree_.ranks_of(node_);
    const auto& children = tree_.children(node_);
    if (!children.empty() || (round == nullptr && here.size() > 1)) {
      outbox_.write(message);
    }
    for (const int child : children)
      outbox_.send_written(tree_.leader_of(child));
    if (round != nullptr) return schedule(std::move(round->records));
    for (const int rank : here) {
      if (rank != rank_) outbox_.send_written(rank);
    }
  }
  return apply(std::move(message));
}

absl::Status Coordinator::apply(Message message) {
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
    return answer_inspection(*question);
  }
  if (auto* told = std::get_if<Told>(&message)) {
    if (told->asker == rank_) {
      answers_.push_back({told->question, std::move(told->text)});
    }
    return absl::OkStatus();
  }
  if (std::holds_alternative<Closed>(message)) {
    closed_ = true;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "a message for a leader reached a rank that leads no node");
}

absl::Status Coordinator::answer_inspection(const Inspect& question) {
  const Clock::TimePoint now = clock_.now();
  silence_.questioned(now);
  const bool is_concerned = question.ranks.empty()
                                ? protocol_.is_member(question.key.process_set)
                                : contains(question.ranks, rank_);
  const Inspected mine = answer_of(
      question.query, protocol_.state(question.key, now), is_concerned);
  if (!is_leader()) {
    outbox_.send(tree_.leader_of(node_), mine);
    return absl::OkStatus();
  }
  leader_->stall_gatherer.begin(question.query, now);
  return leader_->stall_gatherer.receive(rank_, mine);
}

}  // namespace hvd::coordinator
