// SPDX-License-Identifier: Apache-2.0
#include "test/simulation/small_job.h"

#include <cstring>
#include <span>

#include "absl/strings/str_cat.h"

namespace hvd::simulation {
namespace {

using coordinator::Batch;
using coordinator::Coordinator;
using coordinator::Outgoing;
using coordinator::Request;
using coordinator::RequestKind;
using coordinator::SharedBoard;

Request request_of(int tensor) {
  Request request;
  request.key.name = std::string(1, static_cast<char>('a' + tensor));
  request.tensors.push_back({DType::kF32, Shape({4})});
  return request;
}

Request join_request() {
  Request request;
  request.kind = RequestKind::kJoin;
  request.key.name = "join";
  return request;
}

}  // namespace

SmallJob::SmallJob(const Scenario& scenario)
    : tree_(std::make_shared<coordinator::Tree>(scenario.nodes)) {
  const auto length = static_cast<std::uint32_t>(coordinator::kMaxAppend);
  const std::size_t bytes = SharedBoard::bytes_needed(kTensors, length);
  for (const std::vector<int>& node : scenario.nodes) {
    memory_.emplace_back(bytes / sizeof(MemoryLine) + 1);
    for (std::size_t i = 0; i < node.size(); ++i) {
      Rank& mine = ranks_.emplace_back();
      mine.node = static_cast<int>(memory_.size()) - 1;
      mine.board = std::make_unique<WatchedBoard>(
          std::as_writable_bytes(std::span(memory_.back())),
          static_cast<int>(i), static_cast<int>(node.size()), kTensors, length);
      Coordinator::Options options = {.rank = node[i], .tree = tree_};
      options.cache_capacity = kTensors;
      options.fusion_threshold = 0;
      options.steps_before_schedule = scenario.steps_before_schedule;
      options.stall_warning = Clock::Duration(0);
      options.stall_shutdown = Clock::Duration(0);
      mine.coordinator =
          std::make_unique<Coordinator>(options, *mine.board, clock_);
    }
  }
  scripts_.assign(kRanks, {});
  for (RankScript& script : scripts_) {
    for (int i = 0; i < kTensors; ++i) {
      script.push_back({Act::Kind::kSubmit, i});
    }
  }
  for (int step = 0; step < scenario.warm_up; ++step) settle();
  scripts_ = scenario.scripts;
}

// Takes the first choice until no event is possible.
void SmallJob::settle() {
  for (Rank& mine : ranks_) mine.next = 0;
  for (auto open = choices(); !open.empty(); open = choices()) {
    take(open.front());
  }
  for (Rank& mine : ranks_) {
    if (!mine.in_flight.empty()) fault("the warm-up hangs");
    mine.next = 0;
  }
}

// A sum, so that the compiler can vectorize it.
std::uint64_t SmallJob::hash_of_board(int node) const {
  const auto& memory = memory_[static_cast<std::size_t>(node)];
  const auto* bytes = reinterpret_cast<const unsigned char*>(memory.data());
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < memory.size() * sizeof(MemoryLine); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof(word));
    word *= 0x9e3779b97f4a7c15u;
    sum += (word ^ (word >> 29)) * (2 * at + 0x100000001b3u);
  }
  return sum;
}

SmallJob::Histories SmallJob::histories() const {
  Histories histories;
  for (const Rank& mine : ranks_) histories.push_back(mine.history);
  return histories;
}

void SmallJob::set_histories(const Histories& histories) {
  for (std::size_t i = 0; i < histories.size(); ++i) {
    ranks_[i].history = histories[i];
  }
}

bool SmallJob::is_complete(const Rank& mine) const {
  if (!mine.batch) return false;
  const auto found = meetings_.find({mine.batch->epoch, mine.batch->sequence});
  return found->second.entered == kRanks;
}

std::vector<Choice> SmallJob::choices() const {
  std::vector<Choice> open;
  for (int index = 0; index < kRanks; ++index) {
    const Rank& mine = rank(index);
    if (mine.state != State::kRunning) continue;
    if (mine.rung || is_complete(mine)) {
      open.push_back({Choice::Kind::kLook, index});
    }
    for (int from = 0; from < kRanks; ++from) {
      const auto wire = wires_.find({from, index});
      if (wire != wires_.end() && !wire->second.empty()) {
        open.push_back({Choice::Kind::kMail, index, from});
      }
    }
    if (rank_died_ && !mine.told_of_death) {
      open.push_back({Choice::Kind::kNotice, index});
    }
    if (!mine.waits_for &&
        mine.next < scripts_[static_cast<std::size_t>(index)].size()) {
      open.push_back({Choice::Kind::kCaller, index});
    }
  }
  return open;
}

void SmallJob::take(const Choice& choice) {
  Rank& mine = rank(choice.rank);
  const bool was_complete = is_complete(mine);
  happen(choice);
  const std::uint64_t noted = mine.board->take_noted();
  // A look without news leaves the state unchanged.
  const bool idle =
      choice.kind == Choice::Kind::kLook && !was_complete && noted == 0;
  if (!remembers || idle) return;
  mine.history = mix(mine.history, static_cast<std::uint64_t>(choice.kind));
  mine.history = mix(mine.history, static_cast<std::uint64_t>(choice.from) +
                                       (was_complete ? 8u : 0u));
  mine.history = mix(mine.history, noted);
}

void SmallJob::happen(const Choice& choice) {
  Rank& mine = rank(choice.rank);
  switch (choice.kind) {
    case Choice::Kind::kCaller:
      act(choice.rank);
      break;
    case Choice::Kind::kMail: {
      auto& wire = wires_[{choice.from, choice.rank}];
      const std::string bytes = std::move(wire.front());
      wire.pop_front();
      for (const char byte : bytes) {
        if (!remembers) break;
        mine.history = mix(mine.history, static_cast<unsigned char>(byte));
      }
      const auto status = mine.coordinator->receive(choice.from, bytes);
      if (!status.ok()) {
        if (!rank_died_) fault(status.ToString());
        return break_rank(choice.rank);
      }
      break;
    }
    case Choice::Kind::kLook:
      break;
    case Choice::Kind::kNotice:
      return break_rank(choice.rank);
  }
  if (mine.state == State::kRunning) turn(choice.rank);
}

void SmallJob::act(int index) {
  Rank& mine = rank(index);
  const Act action = scripts_[static_cast<std::size_t>(index)][mine.next++];
  switch (action.kind) {
    case Act::Kind::kSubmit:
      return submit(index, request_of(action.tensor));
    case Act::Kind::kWait:
      if (!mine.in_flight.contains(request_of(action.tensor).key.name)) return;
      mine.waits_for = request_of(action.tensor).key;
      return mine.coordinator->wait_for(*mine.waits_for);
    case Act::Kind::kJoin:
      submit(index, join_request());
      mine.waits_for = join_request().key;
      return mine.coordinator->wait_for(*mine.waits_for);
    case Act::Kind::kDie:
      mine.state = State::kDead;
      rank_died_ = true;
  }
}

void SmallJob::submit(int index, const Request& request) {
  rank(index).in_flight.insert(request.key.name);
  rank(index).coordinator->submit(request);
}

void SmallJob::turn(int index) {
  Rank& mine = rank(index);
  mine.rung = false;
  for (bool again = true; again; again = mine.coordinator->wants_step()) {
    const auto status = mine.coordinator->step();
    if (!status.ok()) return fault(status.ToString());
    execute(index);
    for (Outgoing& mail : mine.coordinator->take_outgoing()) {
      wires_[{index, mail.to}].push_back(std::move(mail.bytes));
    }
    const coordinator::Bells bells = mine.coordinator->take_bells();
    for (const int other : tree_->ranks_of(mine.node)) {
      const bool leads = other == tree_->leader_of(mine.node);
      if (other != index && (bells.node || (bells.leader && leads))) {
        rank(other).rung = true;
      }
    }
    // The rank has made progress, so it looks again before it sleeps.
    if (bells.node) mine.rung = true;
  }
}

void SmallJob::execute(int index) {
  Rank& mine = rank(index);
  if (mine.batch) {
    Meeting& meeting = meetings_[{mine.batch->epoch, mine.batch->sequence}];
    const bool gives_up = mine.coordinator->should_abandon();
    if (meeting.entered == kRanks) {
      if (gives_up) fault("a complete batch is to be abandoned");
      for (const Batch::Entry& entry : mine.batch->entries) {
        const std::string& name = entry.agreed->key.name;
        if (entry.submitted_here && mine.in_flight.erase(name) == 0) {
          fault(absl::StrCat(name, " was executed twice on rank ", index));
        }
        if (mine.waits_for && mine.waits_for->name == name) {
          mine.waits_for.reset();
        }
      }
      mine.coordinator->finished();
    } else if (gives_up) {
      ++meeting.abandoned;
      mine.coordinator->abandoned();
    } else {
      return;
    }
    mine.batch.reset();
    mine.rung = true;
  }
  auto batch = mine.coordinator->next_batch();
  if (!batch.ok()) return fault(batch.status().ToString());
  for (const auto& failure : mine.coordinator->take_failures()) {
    fault(absl::StrCat("rank ", index, ": ", failure.why.ToString()));
  }
  if (*batch == nullptr) return;
  mine.batch = **batch;
  if (!mine.batch->certain) was_in_cycle_ = true;
  Meeting& meeting = meetings_[{mine.batch->epoch, mine.batch->sequence}];
  std::string names;
  for (const Batch::Entry& entry : mine.batch->entries) {
    absl::StrAppend(&names, entry.agreed->key.name, " ");
  }
  if (meeting.entered++ == 0) meeting.names = names;
  if (meeting.names != names) fault("ranks execute different batches");
  if (meeting.entered == kRanks && meeting.abandoned > 0) {
    fault("a batch was abandoned without need");
  }
}

void SmallJob::break_rank(int index) {
  Rank& mine = rank(index);
  mine.told_of_death = true;
  mine.state = State::kBroken;
  for (Outgoing& mail :
       mine.coordinator->break_mail(absl::AbortedError("a rank died"))) {
    wires_[{index, mail.to}].push_back(std::move(mail.bytes));
  }
}

std::uint64_t SmallJob::state() const {
  std::uint64_t hash = 0;
  for (const Rank& mine : ranks_) {
    hash = mix(mix(hash, mine.history), mine.rung ? 1 : 0);
  }
  for (std::size_t node = 0; node < memory_.size(); ++node) {
    hash = mix(hash, hash_of_board(static_cast<int>(node)));
  }
  return hash;
}

std::string SmallJob::verdict() const {
  if (!fault_.empty()) return fault_;
  if (!choices().empty()) return "";
  for (int index = 0; index < kRanks; ++index) {
    const Rank& mine = rank(index);
    if (mine.state != State::kRunning) continue;
    if (rank_died_) return absl::StrCat("rank ", index, " heard of nothing");
    if (!mine.in_flight.empty()) {
      return absl::StrCat("rank ", index, " waits for ever for '",
                          *mine.in_flight.begin(), "'");
    }
    if (mine.coordinator->has_in_flight()) {
      return absl::StrCat("rank ", index, " thinks it has something in flight");
    }
  }
  return "";
}

}  // namespace hvd::simulation
