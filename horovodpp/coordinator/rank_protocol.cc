#include "horovodpp/coordinator/rank_protocol.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {
namespace {

// How long a submission may wait for the head of a cycle before this rank asks
// to leave it: a program may submit the head only after it has seen the
// outcome of something behind it, in ways that nobody can see.
constexpr Clock::Duration kCyclePatience = std::chrono::seconds(5);

// Names told of at a time, if many have waited too long.
constexpr std::size_t kMostStalled = 4;

}  // namespace

RankProtocol::RankProtocol(const Options& options, ProcessSets sets,
                           NodeBoard& board)
    : options_(options), sets_(std::move(sets)), board_(board) {}

absl::Status RankProtocol::cancelled_by(int rank, const Key& key) const {
  if (rank == options_.rank) {
    return absl::CancelledError(absl::StrCat(
        "this rank (", rank, ") shut down before every rank had submitted ",
        key.to_string(),
        "; call shutdown() once everything in flight is done"));
  }
  return absl::CancelledError(absl::StrCat(
      options_.describe ? options_.describe(rank) : absl::StrCat("rank ", rank),
      " shut down before every rank had submitted ", key.to_string(),
      "; call shutdown() after the last collective on every rank"));
}

void RankProtocol::submit(const Request& request, Clock::TimePoint now) {
  const Key& key = request.key;
  last_name_ = key.name;
  last_submission_ = now;
  // Whoever waited under this name has what it waited for.
  if (!waited_for_.empty()) waited_for_.erase(key);
  if (in_flight_++ == 0 && options_.stall_warning.count() > 0) {
    next_look_ = now + std::min(options_.stall_warning, kCyclePatience);
  }
  if (ended_by_) return fail(key, cancelled_by(*ended_by_, key));
  if (!is_member(key.process_set)) {
    return fail(key, absl::InvalidArgumentError(absl::StrCat(
                         "rank ", options_.rank, " submitted ", key.to_string(),
                         ", a set that it is not (or no longer) a member of")));
  }
  if (joining_.contains(key.process_set)) {
    return fail(key,
                absl::FailedPreconditionError(absl::StrCat(
                    "rank ", options_.rank, " submitted ", key.to_string(),
                    " after it had joined; wait for the join to complete")));
  }
  if (request.kind == RequestKind::kJoin) return join(request, now);
  const auto id = id_of_.find(key);
  if (id) {
    Known& known = known_[*id];
    if (is_repetition(*known.definition.request, request)) {
      return submit_known(*id, known, now);
    }
    messages_.emplace_back(Outdated{*id});
  }
  propose(request, now);
}

void RankProtocol::propose(const Request& request, Clock::TimePoint since) {
  const bool is_root =
      request.kind == RequestKind::kBroadcast && request.root == options_.rank;
  messages_.emplace_back(Propose{
      .rank = options_.rank, .request = request, .root_is_here = is_root});
  proposed_[request.key] = since;
}

bool RankProtocol::forget_proposal(const Key& key) {
  if (proposed_.erase(key) == 0) return false;
  // The first step proposes every name, and the later ones hardly any.
  if (proposed_.empty()) proposed_ = {};
  return true;
}

void RankProtocol::submit_known(std::uint32_t id, Known& known,
                                Clock::TimePoint now) {
  known.since = now;
  ++known.submissions;
  if (!cycle_) return mark(id, known);
  if (cycle_->contains(id)) {
    known.state = State::kInCycle;
    cycle_->submitted(id);
  } else {
    known.state = State::kDeferred;
    stop_cycle();
  }
}

void RankProtocol::mark(std::uint32_t id, Known& known) {
  known.state = State::kMarked;
  if (board_.arrive(known.definition.slot, id, known.node_members)) {
    leader_is_wanted_ = true;
  }
}

void RankProtocol::join(const Request& request, Clock::TimePoint now) {
  const ProcessSetId set = request.key.process_set;
  const bool phase_is_open = join_phases_.contains(set);
  joining_[set] = {.request = std::make_shared<const Request>(request),
                   .in_effect = phase_is_open,
                   .since = now};
  if (phase_is_open) {
    messages_.emplace_back(Joined{set, options_.rank});
  } else {
    messages_.emplace_back(Join{set});
  }
}

void RankProtocol::wait_for(const Key& key) {
  if (waited_for_.size() >= waits_kept_) {
    drop_old_waits();
    waits_kept_ = std::max(kLeastWaitsKept, 2 * waited_for_.size());
  }
  waited_for_.insert(key);
}

void RankProtocol::drop_old_waits() {
  absl::erase_if(waited_for_, [this](const Key& key) {
    if (proposed_.contains(key)) return false;
    const auto id = id_of_.find(key);
    return !id || known_[*id].state == State::kIdle;
  });
}

void RankProtocol::leave() { messages_.emplace_back(Leave{options_.rank}); }

void RankProtocol::fail(const Key& key, absl::Status why) {
  --in_flight_;
  failures_.push_back({key, std::move(why)});
}

absl::Status RankProtocol::define(const Define& message) {
  const auto [place, is_new] = known_.try_emplace(
      message.id,
      Known{.definition = message,
            .node_members = node_members(message.request->key.process_set)});
  if (!is_new) {
    return absl::InternalError(
        absl::StrCat("the root defined id ", message.id, " twice"));
  }
  if (message.slot != kNoSlot) id_of_.set(*message.request, message.id);
  return absl::OkStatus();
}

std::uint64_t RankProtocol::node_members(ProcessSetId set) const {
  const std::vector<int>& local =
      options_.tree->ranks_of(options_.tree->node_of(options_.rank));
  std::uint64_t members = 0;
  for (std::size_t i = 0; i < local.size(); ++i) {
    if (sets_.contains(set, local[i])) members |= std::uint64_t{1} << i;
  }
  return members;
}

absl::Status RankProtocol::reject(const Reject& message) {
  if (!rejects_.try_emplace(message.number, message).second) {
    return absl::InternalError(
        absl::StrCat("the root rejected number ", message.number, " twice"));
  }
  return absl::OkStatus();
}

void RankProtocol::apply_reject(std::uint32_t number) {
  const auto found = rejects_.extract(number);
  const Reject& reject = found.mapped();
  // Else this rank is not a member, or has joined.
  if (!forget_proposal(reject.key)) return;
  fail(reject.key,
       absl::Status(static_cast<absl::StatusCode>(reject.code), reject.why));
}

void RankProtocol::halt(const Halt& message) {
  halted_ = message.run;
  if (cycle_ && run_ == message.run) {
    messages_.emplace_back(Halted{run_, cycle_->entered()});
  }
}

void RankProtocol::look(Clock::TimePoint now) {
  if (!next_look_ || now < *next_look_ || in_flight_ == 0) return;
  struct Waiting {
    Clock::TimePoint since;
    Key key;
    bool is_join = false;
    bool operator<(const Waiting& other) const {
      return std::tie(since, key) < std::tie(other.since, other.key);
    }
  };
  std::vector<Waiting> waiting;
  for (const auto& [id, known] : known_) {
    if (known.state == State::kIdle) continue;
    waiting.push_back({known.since, known.definition.request->key});
  }
  for (const auto& [key, since] : proposed_) waiting.push_back({since, key});
  for (const auto& [set, joining] : joining_) {
    waiting.push_back({joining.since, joining.request->key, true});
  }
  std::sort(waiting.begin(), waiting.end());
  const Clock::TimePoint oldest = waiting.front().since;
  for (std::size_t i = 0; i < std::min(kMostStalled, waiting.size()); ++i) {
    const auto waited = now - waiting[i].since;
    if (waited < options_.stall_warning) break;
    const auto ms =
        std::chrono::ceil<std::chrono::milliseconds>(waited).count();
    messages_.emplace_back(Stalled{
        waiting[i].key, static_cast<std::uint32_t>(ms), waiting[i].is_join});
  }
  Clock::TimePoint next =
      std::max(oldest, now - options_.stall_warning) + options_.stall_warning;
  if (next <= now) next = now + options_.stall_warning;
  if (options_.stall_shutdown.count() > 0 &&
      oldest + options_.stall_shutdown > now) {
    next = std::min(next, oldest + options_.stall_shutdown);
  }
  if (cycle_ && !executing_ && !cycle_->head_is_ready()) {
    if (now - oldest >= kCyclePatience) stop_cycle();
    next = std::min(next, now + kCyclePatience);
  }
  next_look_ = next;
}

std::optional<Clock::TimePoint> RankProtocol::due() const {
  return in_flight_ > 0 ? next_look_ : std::nullopt;
}

std::vector<Message> RankProtocol::take_messages() {
  return std::exchange(messages_, {});
}

std::vector<Failure> RankProtocol::take_failures() {
  return std::exchange(failures_, {});
}

bool RankProtocol::take_leader_is_wanted() {
  return std::exchange(leader_is_wanted_, false);
}

const Define* RankProtocol::definition(std::uint32_t id) const {
  const auto known = known_.find(id);
  return known == known_.end() ? nullptr : &known->second.definition;
}

RankState RankProtocol::state(const Key& key, Clock::TimePoint now) const {
  RankState state = {.rank = options_.rank, .last_name = last_name_};
  if (last_submission_) {
    state.last_ms_ago = static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now -
                                                              *last_submission_)
            .count());
  }
  state.has_left = ended_by_.has_value();
  const auto joining = joining_.find(key.process_set);
  state.has_joined = joining != joining_.end();
  state.has_submitted = proposed_.contains(key);
  if (const auto id = id_of(key)) {
    const Known& known = known_.find(*id)->second;
    state.submissions = known.submissions + (state.has_submitted ? 1 : 0);
    state.has_submitted = state.has_submitted || known.state != State::kIdle;
  }
  return state;
}

}  // namespace hvd::coordinator
