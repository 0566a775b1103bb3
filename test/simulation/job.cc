// SPDX-License-Identifier: Apache-2.0
#include "test/simulation/job.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/tuning/cut_search.h"
#include "test/simulation/running_job.h"

namespace hvd::simulation {
namespace {

// Parts of a turn.
enum Part : std::uint32_t { kTakeIn, kGiveOut, kExecute };

}  // namespace

using coordinator::Coordinator;
using coordinator::Key;
using coordinator::Outgoing;
using std::chrono::nanoseconds;
using Kind = Event::Kind;
using State = SimulatedRank::State;

RunningJob::RunningJob(const Program& program, bool trace)
    : program_(program),
      trace_(trace),
      random_(program.seed ^ 0x5deece66du),
      tree_(std::make_shared<coordinator::Tree>(program.nodes)),
      broken_nodes_(program.nodes.size()) {
  const std::size_t bytes = coordinator::SharedBoard::bytes_needed(
      program.options.cache_capacity,
      static_cast<std::uint32_t>(coordinator::kMaxAppend));
  for (const std::vector<int>& node : program.nodes) {
    memory_.emplace_back(bytes / sizeof(Block) + 1);
    rooms_.push_back({.most_unread = program.most_unread,
                      .read = std::vector<std::uint64_t>(node.size())});
    for (std::size_t i = 0; i < node.size(); ++i) {
      build_rank(node[i], static_cast<int>(i));
    }
  }
}

// Ranks are built node by node.
void RunningJob::build_rank(int index, int local_rank) {
  SimulatedRank& mine = ranks_.emplace_back(program_, index);
  mine.node = tree_->node_of(index);
  mine.board = std::make_unique<NarrowBoard>(
      std::as_writable_bytes(std::span(memory_.back())), local_rank,
      rooms_.back(), program_.options.cache_capacity);
  Coordinator::Options options = program_.options;
  options.rank = index;
  options.tree = tree_;
  options.tuning.on_sample = [this](const coordinator::TuningSample&) {
    ++report_.statistics.measured;
  };
  options.seconds_per_tick = [] { return 1e-9; };
  mine.coordinator =
      std::make_unique<Coordinator>(options, *mine.board, clock_);
}

nanoseconds RunningJob::pace(int rank, nanoseconds mean) {
  const nanoseconds delay = random_.delay(mean);
  return rank == program_.pace.slow_rank ? 20 * delay : delay;
}

Report RunningJob::run() {
  // More events than any program needs; a program that needs more loops.
  std::uint64_t bound = 20000;
  for (const auto& threads : program_.threads) {
    for (const auto& thread : threads) bound += 400 * thread.size();
  }
  bound *= program_.sleepy ? 4 : 40;
  for (int index = 0; index < program_.size(); ++index) {
    resume_callers(index);
    wake(index);
  }
  auto& statistics = report_.statistics;
  statistics.jobs = 1;
  while (!events_.empty() && report_.faults.empty()) {
    if (++statistics.events > bound) {
      fault("it goes round in circles");
      break;
    }
    handle(events_.next());
  }
  if (report_.faults.empty()) check_end();
  if (!report_.faults.empty()) {
    for (int index = 0; index < program_.size(); ++index) {
      report_.faults.push_back(describe_rank(index, rank(index)));
    }
  }
  return std::move(report_);
}

void RunningJob::handle(const Event& event) {
  clock_.advance(event.at - clock_.now());
  SimulatedRank& mine = rank(event.rank);
  if (!mine.is_running() && event.kind != Kind::kCaller) return;
  if (mine.state == State::kDead) return;
  switch (event.kind) {
    case Kind::kMail: {
      auto& [from, bytes] = letters_[event.index];
      mine.inbox.emplace_back(from, std::move(bytes));
      return wake(event.rank);
    }
    case Kind::kTurn:
      return turn(event.rank, event.index);
    case Kind::kCaller:
      return act(event.rank, static_cast<int>(event.index));
    case Kind::kWake:
      mine.wakes_at.reset();
      return wake(event.rank);
    case Kind::kObserve:
      if (event.index != mine.batches) return;
      mine.observed = true;
      return wake(event.rank);
    case Kind::kNotice:
      return break_rank(event.rank,
                        absl::StrCat("rank ", event.index, " died"));
  }
}

void RunningJob::act(int index, int thread) {
  SimulatedRank& mine = rank(index);
  // Often several actions follow without a pause.
  do {
    const std::string did = mine.callers.act(thread);
    if (trace_) say(index, absl::StrCat("thread ", thread, " ", did));
    const std::vector<int> runnable = mine.callers.take_runnable();
    const bool goes_on = runnable.size() == 1 && runnable.front() == thread;
    if (goes_on && random_.percent(60)) continue;
    for (const int other : runnable) {
      events_.add(clock_.now() + pace(index, program_.pace.caller),
                  Kind::kCaller, index, static_cast<std::uint32_t>(other));
    }
    break;
  } while (true);
  wake(index);
}

void RunningJob::resume_callers(int index) {
  for (const int thread : rank(index).callers.take_runnable()) {
    events_.add(clock_.now() + pace(index, program_.pace.caller), Kind::kCaller,
                index, static_cast<std::uint32_t>(thread));
  }
}

void RunningJob::wake(int index) {
  SimulatedRank& mine = rank(index);
  if (!mine.is_running()) return;
  if (mine.has_turn) {
    mine.again = true;
    return;
  }
  mine.has_turn = true;
  events_.add(clock_.now() + pace(index, program_.pace.turn), Kind::kTurn,
              index, kTakeIn);
}

void RunningJob::turn(int index, std::uint32_t part) {
  SimulatedRank& mine = rank(index);
  const auto goes_on = [&](Part next) {
    if (!mine.is_running()) return false;
    if (program_.atomic_turns || random_.percent(50)) return true;
    events_.add(clock_.now() + pace(index, program_.pace.turn / 4), Kind::kTurn,
                index, next);
    return false;
  };
  if (part == kTakeIn) {
    take_in(index);
    if (!goes_on(kGiveOut)) return;
    part = kGiveOut;
  }
  if (part == kGiveOut) {
    give_out(index);
    if (!goes_on(kExecute)) return;
  }
  execute(index);
  if (mine.is_running()) end_turn(index);
}

void RunningJob::take_in(int index) {
  SimulatedRank& mine = rank(index);
  mine.again = false;
  mine.moved = false;
  ++mine.turns;
  const std::string& broken =
      broken_nodes_[static_cast<std::size_t>(mine.node)];
  if (!broken.empty()) return break_rank(index, broken);
  const bool leaves = mine.callers.take_leave();
  while (!mine.inbox.empty()) {
    const auto [from, bytes] = std::move(mine.inbox.front());
    mine.inbox.pop_front();
    mine.moved = true;
    if (trace_) {
      say(index,
          absl::StrCat("receives from ", from, ": ", describe_mail(bytes)));
    }
    const absl::Status status = mine.coordinator->receive(from, bytes);
    if (!status.ok()) {
      return break_rank(index, std::string(status.message()));
    }
  }
  for (const auto& request : mine.callers.take_requests()) {
    mine.coordinator->submit(request);
    mine.submitted_at[mine.callers.in_flight(request.key)] = clock_.now();
    mine.moved = true;
  }
  for (const Key& key : mine.callers.take_waited_for()) {
    mine.coordinator->wait_for(key);
    mine.moved = true;
  }
  if (leaves) {
    mine.coordinator->leave();
    mine.moved = true;
  }
}

void RunningJob::give_out(int index) {
  SimulatedRank& mine = rank(index);
  const absl::Status status = mine.coordinator->step();
  for (const Death& death : program_.deaths) {
    if (death.rank != index || mine.turns < death.turn) continue;
    if (!death.mid_sending) return die(index);
    std::vector<Outgoing> mail = mine.coordinator->take_outgoing();
    if (mail.empty()) continue;
    mail.resize(
        static_cast<std::size_t>(random_.below(static_cast<int>(mail.size()))));
    send(index, std::move(mail));
    return die(index);
  }
  if (!status.ok()) return break_rank(index, std::string(status.message()));
  for (const std::string& warning : mine.coordinator->take_warnings()) {
    ++report_.statistics.warnings;
    if (trace_) say(index, absl::StrCat("warns: ", warning));
  }
  std::vector<Outgoing> mail = mine.coordinator->take_outgoing();
  if (!mail.empty()) mine.moved = true;
  send(index, std::move(mail));
  ring(index);
}

void RunningJob::ring(int index) {
  SimulatedRank& mine = rank(index);
  const coordinator::Bells bells = mine.coordinator->take_bells();
  if (bells.leader) wake(tree_->leader_of(mine.node));
  if (!bells.node) return;
  for (const int other : tree_->ranks_of(mine.node)) {
    if (other != index) wake(other);
  }
  mine.moved = true;
}

void RunningJob::send(int from, std::vector<Outgoing> mail) {
  for (Outgoing& letter : mail) {
    ++report_.statistics.mail;
    if (trace_) {
      say(from, absl::StrCat("sends to ", letter.to, ": ",
                             describe_mail(letter.bytes)));
    }
    Clock::TimePoint& arrival = last_arrival_[{from, letter.to}];
    arrival =
        std::max(arrival, clock_.now() + pace(letter.to, program_.pace.mail));
    letters_.emplace_back(from, std::move(letter.bytes));
    events_.add(arrival, Kind::kMail, letter.to,
                static_cast<std::uint32_t>(letters_.size() - 1));
  }
}

void RunningJob::end_turn(int index) {
  SimulatedRank& mine = rank(index);
  fail_submissions(index);
  mine.has_turn = false;
  if (mine.coordinator->closed()) {
    mine.state = State::kClosed;
    // The last messages of the closed coordinator.
    send(index, mine.coordinator->take_outgoing());
    ring(index);
    return;
  }
  if (mine.moved || mine.again || mine.coordinator->wants_step()) {
    return wake(index);
  }
  std::optional<Clock::TimePoint> due = mine.coordinator->due();
  if (due) due = std::max(*due, clock_.now());
  if (!program_.sleepy) {
    const auto& pace = program_.pace;
    const nanoseconds mean =
        std::max({pace.mail, pace.turn, pace.caller, pace.observe}) / 2;
    const Clock::TimePoint poll =
        clock_.now() + random_.delay(mean) + nanoseconds(1);
    due = due ? std::min(*due, poll) : poll;
  }
  if (due && (!mine.wakes_at || *due < *mine.wakes_at)) {
    mine.wakes_at = due;
    events_.add(*due, Kind::kWake, index);
  }
}

void RunningJob::fault(const std::string& text) {
  if (trace_) std::fprintf(stderr, "FAULT: %s\n", text.c_str());
  report_.faults.push_back(text);
}

void RunningJob::say(int index, const std::string& text) {
  std::fprintf(stderr, "%10lld rank %d %s\n",
               static_cast<long long>(clock_.now().time_since_epoch().count()),
               index, text.c_str());
}

Report run(const Program& program, bool trace) {
  return RunningJob(program, trace).run();
}

}  // namespace hvd::simulation
