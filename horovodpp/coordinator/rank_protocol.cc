// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/rank_protocol.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/tensor_queue.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/status.h"

namespace hvd::coordinator {

RankProtocol::RankProtocol(const Options& options, ProcessSets sets,
                           NodeBoard& board)
    : options_(options),
      sets_(std::move(sets)),
      board_(board),
      meter_(options.meter),
      stalls_(options.stall_warning, options.stall_shutdown) {}

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

void RankProtocol::submit(std::span<Submission* const> all,
                          Clock::TimePoint now) {
  if (all.empty()) return;
  const bool is_first = in_flight_ == 0;
  for (Submission* const mine : all) submit_one(*mine, now);
  last_alone_ = kNoId;
  stalls_.submitted(all.back()->request.key.name, is_first, now);
}

void RankProtocol::submit_one(Submission& mine, Clock::TimePoint now) {
  const Key& key = mine.request.key;
  if (Operation* const known = repeated_by(mine)) {
    awaited_.erase(key);
    ++in_flight_;
    return submit_known(*known, now, &mine);
  }
  Operation* const found = submit_by_name(mine.request, now, &mine);
  if (found == nullptr || mine.name == nullptr) return;
  mine.name->operation = found;
  mine.name->as_of = operations_.changes();
  const bool is_it = found->mine == &mine && found->state != State::kIdle;
  mine.repeats = is_it ? found->definition.id : kNoId;
}

void RankProtocol::submit(const Request& request, Clock::TimePoint now,
                          Submission* mine) {
  submit_by_name(request, now, mine);
}

Operation* RankProtocol::submit_by_name(const Request& request,
                                        Clock::TimePoint now,
                                        Submission* mine) {
  const Key& key = request.key;
  awaited_.erase(key);
  last_alone_ = kNoId;
  stalls_.submitted(key.name, in_flight_++ == 0, now);
  const auto id = operations_.id_of(key);
  Operation* const known = id ? operations_.find(*id) : nullptr;
  if (ended_by_) {
    fail(key, mine, cancelled_by(*ended_by_, key));
    return known;
  }
  if (joining_.contains(key.process_set)) {
    fail(key, mine,
         absl::FailedPreconditionError(absl::StrCat(
             "rank ", options_.rank, " submitted ", key.to_string(),
             " after it had joined; wait for the join to complete")));
    return known;
  }
  if (known != nullptr ? !known->is_member : !is_concerned(request)) {
    fail(key, mine,
         absl::InvalidArgumentError(absl::StrCat(
             "rank ", options_.rank, " submitted ", key.to_string(),
             ", a set that it is not (or no longer) a member of")));
    return known;
  }
  if (request.kind == RequestKind::kJoin) {
    join(request, now, mine);
    return known;
  }
  if (known != nullptr) {
    if (is_repetition(known->request(), request)) {
      submit_known(*known, now, mine);
      return known;
    }
    messages_.emplace_back(Outdated{*id});
  }
  // A copy: the owner of the submission may change or free it.
  propose(std::make_shared<const Request>(request),
          {.since = now, .mine = mine});
  return known;
}

void RankProtocol::propose(RequestPtr request, const Proposed& as) {
  const bool is_root =
      describe(request->kind).has_root() && request->root == options_.rank;
  messages_.emplace_back(Propose{
      .rank = options_.rank, .request = request, .root_is_here = is_root});
  proposed_.insert_or_assign(NamedRequest(std::move(request)), as);
}

std::optional<RankProtocol::Proposed> RankProtocol::take_proposal(
    const Key& key) {
  const auto found = proposed_.find(key);
  if (found == proposed_.end()) return std::nullopt;
  const Proposed proposed = found->second;
  proposed_.erase(found);
  // The first step proposes every name, later steps hardly any: free the
  // memory.
  if (proposed_.empty()) proposed_ = {};
  return proposed;
}

void RankProtocol::submit_known(Operation& operation, Clock::TimePoint now,
                                Submission* mine) {
  operation.since = now;
  operation.mine = mine;
  ++operation.submissions;
  if (!cycle_.is_in_force()) return mark(operation);
  submit_in_cycle(operation);
}

void RankProtocol::mark(Operation& operation) {
  operation.state = State::kMarked;
  if (board_.arrive(operation.definition.slot, operation.definition.id,
                    operation.node_members)) {
    leader_is_wanted_ = true;
  }
}

void RankProtocol::join(const Request& request, Clock::TimePoint now,
                        Submission* mine) {
  const ProcessSetId set = request.key.process_set;
  const bool phase_is_open = join_phases_.contains(set);
  joining_[set] = {.request = std::make_shared<const Request>(request),
                   .in_effect = phase_is_open,
                   .since = now,
                   .mine = mine};
  if (phase_is_open) {
    messages_.emplace_back(Joined{set, options_.rank});
  } else {
    messages_.emplace_back(Join{set});
  }
}

void RankProtocol::wait_for(const Key& key) {
  awaited_.add(key, [this](const Key& other) { return is_in_flight(other); });
}

bool RankProtocol::is_in_flight(const Key& key) const {
  if (proposed_.contains(key)) return true;
  const auto id = operations_.id_of(key);
  return id && operations_.find(*id)->state != State::kIdle;
}

void RankProtocol::leave() { messages_.emplace_back(Leave{options_.rank}); }

void RankProtocol::fail(const Key& key, Submission* mine, absl::Status why) {
  --in_flight_;
  failures_.push_back({key, std::move(why), mine});
}

absl::Status RankProtocol::define(const Define& message) {
  const ProcessSetId set = message.request->key.process_set;
  return operations_.define({.definition = message,
                             .node_members = node_members(set),
                             .is_member = is_member(set)});
}

bool RankProtocol::is_concerned(const Request& request) const {
  return describe(request.kind).is_of_members
             ? contains(request.ranks, options_.rank)
             : is_member(request.key.process_set);
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
  const auto proposed = take_proposal(reject.key);
  // Otherwise this rank is not a member, or has joined.
  if (!proposed) return;
  fail(reject.key, proposed->mine,
       absl::Status(static_cast<absl::StatusCode>(reject.code), reject.why));
}

std::vector<StallReporter::Waiting> RankProtocol::waiting() const {
  std::vector<StallReporter::Waiting> waiting;
  const auto members = [](const Request& request) {
    return describe(request.kind).is_of_members ? request.ranks
                                                : std::vector<int>();
  };
  for (const auto& [id, operation] : operations_) {
    if (operation.state == State::kIdle) continue;
    waiting.push_back({.since = operation.since,
                       .key = operation.key(),
                       .ranks = members(operation.request())});
  }
  for (const auto& [request, proposed] : proposed_) {
    waiting.push_back(
        {.since = proposed.since,
         .key = request.key(),
         .may_wait = request.request()->kind == RequestKind::kFreeProcessSet,
         .ranks = members(*request.request())});
  }
  for (const auto& [set, joining] : joining_) {
    waiting.push_back(
        {.since = joining.since, .key = joining.request->key, .is_join = true});
  }
  return waiting;
}

void RankProtocol::ask(const Key& key, std::uint32_t question,
                       Clock::TimePoint now) {
  Stalled asked = {.key = key, .asker = options_.rank, .question = question};
  for (StallReporter::Waiting& one : waiting()) {
    if (!(one.key == key)) continue;
    asked.waited_ms = static_cast<std::uint32_t>(
        std::chrono::ceil<std::chrono::milliseconds>(now - one.since).count());
    asked.ranks = std::move(one.ranks);
  }
  messages_.emplace_back(std::move(asked));
}

void RankProtocol::report_stalls(Clock::TimePoint now) {
  std::vector<StallReporter::Waiting> waiting = this->waiting();
  std::erase_if(waiting, [](const auto& one) { return one.may_wait; });
  if (waiting.empty()) return stalls_.check_later(now);
  const Clock::TimePoint oldest =
      std::min_element(
          waiting.begin(), waiting.end(),
          [](const auto& a, const auto& b) { return a.since < b.since; })
          ->since;
  for (Stalled& stalled : stalls_.report(std::move(waiting), now)) {
    messages_.emplace_back(std::move(stalled));
  }
  if (cycle_.is_in_force() && !batch_.is_executing() &&
      !cycle_.cycle().head_is_ready()) {
    if (now - oldest >= kCycleHeadTimeout) stop_cycle();
    stalls_.make_due_by(now + kCycleHeadTimeout);
  }
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
  const Operation* const operation = operations_.find(id);
  return operation == nullptr ? nullptr : &operation->definition;
}

RankState RankProtocol::state(const Key& key, Clock::TimePoint now) const {
  RankState state = {.rank = options_.rank};
  stalls_.describe_last(now, state);
  state.has_left = ended_by_.has_value();
  const auto joining = joining_.find(key.process_set);
  state.has_joined = joining != joining_.end();
  state.has_submitted =
      proposed_.contains(key) ||
      (state.has_joined && joining->second.request->key == key);
  if (const Operation* const last = operations_.find(last_alone_)) {
    state.last_name = last->key().name;
    state.last_ms_ago = static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now -
                                                              last_alone_at_)
            .count());
  }
  if (const auto id = id_of(key)) {
    const Operation& known = *operations_.find(*id);
    state.submissions = known.submissions + (state.has_submitted ? 1 : 0);
    state.has_submitted = state.has_submitted || known.state != State::kIdle;
  }
  return state;
}

absl::StatusOr<const Batch*> RankProtocol::next_batch() {
  if (batch_.is_executing()) return nullptr;
  while (!batch_.is_ready()) {
    if (!board_.next_record()) {
      if (cycle_.is_in_force()) enter_cycle_head();
      break;
    }
    const std::vector<Record> records = board_.next_batch();
    // The schedule can overtake definitions and rejections, which arrive as
    // mail.
    if (!may_be_read(records)) break;
    HVD_RETURN_IF_ERROR(read(records));
    if (board_.advance()) leader_is_wanted_ = true;
    has_read_ = true;
  }
  return batch_.give_out();
}

}  // namespace hvd::coordinator
