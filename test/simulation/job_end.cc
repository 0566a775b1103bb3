// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "test/simulation/running_job.h"

namespace hvd::simulation {

using Kind = Event::Kind;
using State = SimulatedRank::State;

// The node's other ranks notice the death. If none is left, the neighbors miss
// the node's heartbeats.
void RunningJob::die(int index) {
  SimulatedRank& mine = rank(index);
  if (trace_) say(index, "dies");
  mine.state = State::kDead;
  std::vector<int> witnesses;
  const auto add_living = [&](int node) {
    for (const int other : tree_->ranks_of(node)) {
      if (rank(other).state != State::kDead) witnesses.push_back(other);
    }
  };
  add_living(mine.node);
  if (witnesses.empty()) {
    if (tree_->parent(mine.node) != coordinator::Tree::kNone) {
      add_living(tree_->parent(mine.node));
    }
    for (const int child : tree_->children(mine.node)) add_living(child);
  }
  for (const int witness : witnesses) {
    events_.add(clock_.now() + random_.delay(100 * program_.pace.turn),
                Kind::kNotice, witness, static_cast<std::uint32_t>(index));
  }
}

void RunningJob::break_rank(int index, const std::string& why) {
  SimulatedRank& mine = rank(index);
  if (trace_) say(index, absl::StrCat("is broken: ", why));
  if (!program_.breaks()) {
    fault(absl::StrCat("rank ", index, " is broken: ", why));
  }
  mine.state = State::kBroken;
  mine.why = why;
  send(index, mine.coordinator->break_mail(absl::AbortedError(why)));
  std::string& node = broken_nodes_[static_cast<std::size_t>(mine.node)];
  if (node.empty()) node = why;
  for (const int other : tree_->ranks_of(mine.node)) wake(other);
  report_.statistics.broken += mine.callers.in_flight();
  mine.callers.close();
  resume_callers(index);
}

void RunningJob::check_end() {
  for (int index = 0; index < program_.size(); ++index) {
    check_end_of_rank(index);
  }
  if (program_.breaks()) return;
  for (std::size_t item = 0; item < program_.items.size(); ++item) {
    check_end_of_item(static_cast<int>(item));
  }
  for (const auto& [place, meeting] : meetings_) {
    if (const auto wrong = meeting.check_end()) {
      fault(absl::StrCat(meeting.describe(), " ", *wrong));
    }
  }
}

void RunningJob::check_end_of_rank(int index) {
  SimulatedRank& mine = rank(index);
  if (mine.state == State::kDead) return;
  if (mine.is_running()) {
    return fault(absl::StrCat("rank ", index, " never ends"));
  }
  if (!mine.callers.finished()) {
    fault(absl::StrCat("a caller of rank ", index, " waits for ever"));
  }
  if (mine.callers.in_flight() > 0) {
    fault(absl::StrCat("rank ", index, " ended with something in flight"));
  }
  if (mine.state == State::kClosed && mine.coordinator->has_in_flight()) {
    fault(absl::StrCat("rank ", index, " closed, and thinks that it has ",
                       "something in flight"));
  }
}

// All ranks must have the same outcome.
void RunningJob::check_end_of_item(int item) {
  const Item& expected = program_.items[static_cast<std::size_t>(item)];
  bool some_done = false;
  bool all_done = true;
  for (const int index : expected.ranks) {
    const unsigned outcome = rank(index).callers.outcome(item);
    if (!rank(index).callers.has_submitted(item)) continue;
    some_done = some_done || outcome == kDone;
    all_done = all_done && outcome == kDone;
    if (outcome == 0) {
      fault(absl::StrCat("item ", item, " has no outcome on rank ", index));
    }
  }
  if (some_done && !all_done) {
    fault(absl::StrCat("item ", item, " was done only on some ranks"));
  }
}

Statistics& Statistics::operator+=(const Statistics& other) {
  jobs += other.jobs;
  events += other.events;
  mail += other.mail;
  batches += other.batches;
  cycled += other.cycled;
  early += other.early;
  abandoned += other.abandoned;
  absent += other.absent;
  done += other.done;
  mismatches += other.mismatches;
  cancelled += other.cancelled;
  refused += other.refused;
  broken += other.broken;
  warnings += other.warnings;
  measured += other.measured;
  most_epochs = std::max(most_epochs, other.most_epochs);
  return *this;
}

std::string Statistics::describe() const {
  return absl::StrCat(jobs, " jobs, ", events, " events, ", mail, " messages, ",
                      batches, " batches (", cycled, " in a cycle, ", early,
                      " entered early, ", abandoned, " abandoned, ", absent,
                      " entries without a joined rank), up to ", most_epochs,
                      " epochs; ", done, " submissions done, ", mismatches,
                      " mismatches, ", cancelled, " cancelled, ", refused,
                      " refused, ", broken, " broken; ", warnings,
                      " warnings, ", measured, " measurements");
}

}  // namespace hvd::simulation
