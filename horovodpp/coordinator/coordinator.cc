#include "horovodpp/coordinator/coordinator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {

Coordinator::Coordinator(const Options& options, NodeBoard& board,
                         const Clock& clock)
    : options_(options), board_(board), clock_(clock), negotiator_(board) {
  if (is_root()) {
    registrar_ = std::make_unique<Registrar>(
        Registrar::Options{.ranks = options.size,
                           .nodes = static_cast<int>(options.leaders.size()),
                           .capacity = options.cache_capacity,
                           .fusion_threshold = options.fusion_threshold,
                           .hold_back = options.hold_back});
  }
}

// What was submitted before goes first.
absl::Status Coordinator::leave() {
  HVD_RETURN_IF_ERROR(forward_messages());
  return send(kRoot, Leave{});
}

absl::Status Coordinator::receive(int from, std::string bytes) {
  absl::StatusOr<Envelope> envelope = decode(std::move(bytes));
  if (!envelope.ok()) {
    return annotate(envelope.status(), absl::StrCat("mail from rank ", from));
  }
  if (envelope->epoch != options_.epoch) return absl::OkStatus();
  if (const auto* broken = std::get_if<Break>(&envelope->message)) {
    return absl::AbortedError(broken->why);
  }
  return annotate(deliver(from, envelope->message),
                  absl::StrCat("mail from rank ", from));
}

absl::Status Coordinator::send(int to, Message message) {
  if (to == options_.rank) return deliver(to, message);
  outgoing_.push_back({to, encode({options_.epoch, std::move(message)})});
  return absl::OkStatus();
}

absl::Status Coordinator::deliver(int from, const Message& message) {
  const bool for_root = std::holds_alternative<Propose>(message) ||
                        std::holds_alternative<Passed>(message) ||
                        std::holds_alternative<Ready>(message) ||
                        std::holds_alternative<RoundSeen>(message) ||
                        std::holds_alternative<Leave>(message);
  if (for_root && !is_root()) {
    return absl::InvalidArgumentError(
        "a message for the root came to another rank");
  }
  if (!for_root && from != kRoot) {
    return absl::InvalidArgumentError(
        "a message of the root came from another rank");
  }
  return for_root ? to_root(from, message) : from_root(message);
}

absl::Status Coordinator::to_root(int from, const Message& message) {
  if (const auto* propose = std::get_if<Propose>(&message)) {
    HVD_RETURN_IF_ERROR(registrar_->propose(from, propose->request));
  } else if (const auto* passed = std::get_if<Passed>(&message)) {
    HVD_RETURN_IF_ERROR(registrar_->passed(from, passed->id));
  } else if (const auto* ready = std::get_if<Ready>(&message)) {
    for (std::uint32_t id : ready->ids) registrar_->ready(id);
    HVD_RETURN_IF_ERROR(send(from, ReadySeen{}));
  } else if (std::holds_alternative<RoundSeen>(message)) {
    if (rounds_unseen_ == 0) {
      return absl::InvalidArgumentError("a round was acknowledged twice");
    }
    --rounds_unseen_;
  } else {
    // What was complete on this node before is still executed.
    HVD_RETURN_IF_ERROR(collect());
    HVD_RETURN_IF_ERROR(registrar_->leave(from));
  }
  return announce();
}

absl::Status Coordinator::announce() {
  for (const Message& message : registrar_->take_announcements()) {
    for (int rank = 0; rank < options_.size; ++rank) {
      HVD_RETURN_IF_ERROR(send(rank, message));
    }
  }
  return absl::OkStatus();
}

absl::Status Coordinator::from_root(const Message& message) {
  if (const auto* define = std::get_if<Define>(&message)) {
    return negotiator_.define(*define);
  }
  if (const auto* reject = std::get_if<Reject>(&message)) {
    return negotiator_.reject(*reject);
  }
  if (std::holds_alternative<Closed>(message)) {
    closed_ = true;
    return absl::OkStatus();
  }
  if (!is_leader()) {
    return absl::InvalidArgumentError(
        "a message for a node's leader came to another rank");
  }
  if (const auto* round = std::get_if<Round>(&message)) {
    if (round->records.size() > kMaxAppend) {
      return absl::InvalidArgumentError("a round is longer than allowed");
    }
    pending_.push_back(round->records);
    round_is_unanswered_ = true;
  } else {
    ready_is_unseen_ = false;
  }
  return absl::OkStatus();
}

absl::Status Coordinator::step() {
  HVD_RETURN_IF_ERROR(forward_messages());
  if (is_leader()) {
    HVD_RETURN_IF_ERROR(collect());
    if (is_root()) HVD_RETURN_IF_ERROR(schedule());
    append_pending();
    if (round_is_unanswered_ && pending_.empty()) {
      round_is_unanswered_ = false;
      HVD_RETURN_IF_ERROR(send(kRoot, RoundSeen{}));
    }
  }
  return absl::OkStatus();
}

absl::Status Coordinator::forward_messages() {
  for (Message& message : negotiator_.take_messages()) {
    HVD_RETURN_IF_ERROR(send(kRoot, std::move(message)));
  }
  if (negotiator_.take_leader_is_wanted()) bells_.leader = true;
  return absl::OkStatus();
}

// A leader takes note of what became complete on its node.
absl::Status Coordinator::collect() {
  while (const auto id = board_.next_completed()) {
    if (is_root()) {
      registrar_->ready(*id);
    } else {
      completed_.push_back(*id);
    }
  }
  if (!completed_.empty() && !ready_is_unseen_) {
    ready_is_unseen_ = true;
    return send(kRoot, Ready{std::exchange(completed_, {})});
  }
  return absl::OkStatus();
}

// The root goes on with the schedule once all nodes have the previous round.
absl::Status Coordinator::schedule() {
  while (rounds_unseen_ == 0) {
    std::vector<Record> records = registrar_->cut(clock_.now());
    if (records.empty()) break;
    for (int leader : options_.leaders) {
      if (leader == kRoot) continue;
      ++rounds_unseen_;
      HVD_RETURN_IF_ERROR(send(leader, Round{records}));
    }
    pending_.push_back(std::move(records));
  }
  // Last of all, so that every node has the whole schedule by then.
  if (rounds_unseen_ == 0 && registrar_->finished() && !closed_) {
    for (int rank = 0; rank < options_.size; ++rank) {
      HVD_RETURN_IF_ERROR(send(rank, Closed{}));
    }
  }
  return absl::OkStatus();
}

void Coordinator::append_pending() {
  while (!pending_.empty() && board_.append(pending_.front())) {
    pending_.pop_front();
    bells_.node = true;
  }
}

std::vector<Outgoing> Coordinator::take_outgoing() {
  return std::exchange(outgoing_, {});
}

Bells Coordinator::take_bells() { return std::exchange(bells_, {}); }

Outgoing Coordinator::break_mail(int to, const std::string& why) const {
  return {to, encode({options_.epoch, Break{why}})};
}

std::optional<Clock::TimePoint> Coordinator::held_until() const {
  return is_root() ? registrar_->held_until() : std::nullopt;
}

}  // namespace hvd::coordinator
