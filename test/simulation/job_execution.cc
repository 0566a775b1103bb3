// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/core/job/ranks.h"
#include "test/simulation/running_job.h"

namespace hvd::simulation {

using coordinator::Batch;
using coordinator::Key;
using Kind = Event::Kind;

void RunningJob::execute(int index) {
  SimulatedRank& mine = rank(index);
  if (mine.batch) look_into_batch(index);
  while (mine.is_running() && !mine.batch) {
    auto batch = mine.coordinator->next_batch();
    if (!batch.ok()) {
      return break_rank(index, std::string(batch.status().message()));
    }
    fail_submissions(index);
    if (*batch == nullptr) break;
    mine.moved = true;
    enter(index, **batch);
  }
}

void RunningJob::fail_submissions(int index) {
  SimulatedRank& mine = rank(index);
  for (const auto& failure : mine.coordinator->take_failures()) {
    mine.moved = true;
    const std::string text(failure.why.message());
    const Outcome outcome = absl::IsInvalidArgument(failure.why) ? kMismatch
                            : absl::IsCancelled(failure.why)     ? kCancelled
                            : absl::IsAlreadyExists(failure.why) ? kRefused
                                                                 : kBroken;
    settle(index, failure.key, outcome, 0, failure.why.ToString());
    if (mine.batch) {
      for (const Batch::Entry& entry : mine.batch->entries) {
        if (entry.agreed->key == failure.key) {
          fault(absl::StrCat("rank ", index, ": ", failure.key.to_string(),
                             " fails while it is executed"));
        }
      }
    }
  }
}

void RunningJob::enter(int index, Batch batch) {
  SimulatedRank& mine = rank(index);
  const auto place = std::pair(batch.epoch, batch.sequence);
  if (batch.entries.empty()) {
    return fault(absl::StrCat("rank ", index, " gets an empty batch"));
  }
  if (mine.last_batch && place <= *mine.last_batch) {
    fault(absl::StrCat("rank ", index, " gets batch ", place.first, ".",
                       place.second, " after ", mine.last_batch->first, ".",
                       mine.last_batch->second));
  }
  mine.last_batch = place;
  auto& statistics = report_.statistics;
  statistics.most_epochs =
      std::max<std::uint64_t>(statistics.most_epochs, batch.epoch);
  const auto ranks =
      mine.coordinator->process_sets().ranks(batch.request().key.process_set);
  const std::vector<int> members = ranks ? *ranks : std::vector<int>();
  const auto [meeting, is_new] =
      meetings_.try_emplace(place, Meeting(batch, members));
  mine.batch = std::move(batch);
  mine.meeting = &meeting->second;
  mine.entered_at = clock_.now();
  ++mine.batches;
  mine.will_observe = false;
  mine.observed = false;
  if (is_new && is_early(*mine.batch, members)) ++statistics.early;
  const auto wrong = meeting->second.enter(index, *mine.batch, members);
  if (trace_) say(index, "enters " + meeting->second.describe());
  if (wrong) {
    fault(absl::StrCat("on rank ", index, ", ", meeting->second.describe(), " ",
                       *wrong));
  }
  for (const Batch::Entry& entry : mine.batch->entries) {
    check_entry(index, entry);
  }
  if (mine.batch->entries.size() > 1) {
    std::size_t bytes = 0;
    for (const auto& entry : mine.batch->entries) {
      bytes += entry.agreed->bytes();
    }
    if (bytes > program_.options.fusion_threshold) {
      fault(meeting->second.describe() + " is larger than the threshold");
    }
  }
  for (const int other : meeting->second.entered()) {
    SimulatedRank& peer = rank(other);
    if (peer.meeting != &meeting->second || peer.will_observe ||
        !meeting->second.is_over_for(other, program_.strict_executor)) {
      continue;
    }
    peer.will_observe = true;
    events_.add(clock_.now() + pace(other, program_.pace.observe),
                Kind::kObserve, other, peer.batches);
  }
}

namespace {

// Whether the members of a process set change it, and `rank` is none of them.
bool is_of_others(const coordinator::Request& request, int rank) {
  return describe(request.kind).is_of_members &&
         !hvd::contains(request.ranks, rank);
}

}  // namespace

bool RunningJob::is_early(const Batch& batch, const std::vector<int>& members) {
  const Key& key = batch.request().key;
  return std::any_of(members.begin(), members.end(), [&](int member) {
    const SimulatedRank& other = rank(member);
    return !other.batch && other.callers.in_flight(key) < 0 &&
           !is_of_others(batch.request(), member) &&
           !other.callers.has_joined(key.process_set);
  });
}

void RunningJob::check_entry(int index, const Batch::Entry& entry) {
  SimulatedRank& mine = rank(index);
  const Key& key = entry.agreed->key;
  const int item = mine.callers.in_flight(key);
  const auto wrong = [&](const std::string& fault_text) {
    fault(absl::StrCat("rank ", index, ": ", key.to_string(), " is ",
                       fault_text));
  };
  if (!entry.submitted_here) {
    if (item >= 0) wrong("executed without what this rank has submitted");
    if (is_of_others(*entry.agreed, index)) return;
    ++report_.statistics.absent;
    if (!mine.callers.has_joined(key.process_set)) {
      wrong("executed, and this rank neither submitted it nor joined");
    }
    return;
  }
  if (item < 0) return wrong("executed, and not in flight");
  const auto& expected = program_.items[static_cast<std::size_t>(item)];
  auto submitted = expected.request_of(index);
  submitted.key = key;
  submitted.subject = entry.agreed->subject;
  if (find_mismatch(0, *entry.agreed, index, submitted)) {
    wrong("executed as something else than this rank submitted");
  }
  const auto ranks = mine.coordinator->process_sets().ranks(key.process_set);
  if (!ranks ||
      *ranks != program_.sets[static_cast<std::size_t>(expected.set)]) {
    wrong("executed by other ranks than its set has");
  }
}

// A rank inside a batch does not block here: it returns, and looks again when
// it is woken.
void RunningJob::look_into_batch(int index) {
  SimulatedRank& mine = rank(index);
  const bool is_over =
      mine.meeting->is_over_for(index, program_.strict_executor);
  if (is_over && mine.observed) return finish_batch(index);
  if (!mine.coordinator->should_abandon()) return;
  ++report_.statistics.abandoned;
  mine.moved = true;
  if (trace_) say(index, "abandons " + mine.meeting->describe());
  if (const auto wrong = mine.meeting->abandon(index)) {
    fault(absl::StrCat("on rank ", index, ", ", mine.meeting->describe(), " ",
                       *wrong));
  }
  mine.coordinator->abandoned();
  mine.batch.reset();
  mine.meeting = nullptr;
}

// The tuner takes the time of a submission from the submission itself.
void RunningJob::measure(int index) {
  if (program_.options.tuning_steps == 0) return;
  SimulatedRank& mine = rank(index);
  const auto ticks = [](Clock::TimePoint moment) {
    return static_cast<std::uint64_t>(
        std::chrono::nanoseconds(moment.time_since_epoch()).count());
  };
  Batch batch = *mine.batch;
  std::vector<coordinator::Submission> submissions(batch.entries.size());
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    Batch::Entry& entry = batch.entries[i];
    if (!entry.submitted_here) continue;
    const int item = mine.callers.in_flight(entry.agreed->key);
    submissions[i].pushed_at = ticks(mine.submitted_at[item]);
    entry.mine = &submissions[i];
  }
  mine.coordinator->executed(batch, ticks(mine.entered_at),
                             ticks(clock_.now()));
}

void RunningJob::finish_batch(int index) {
  SimulatedRank& mine = rank(index);
  ++report_.statistics.batches;
  if (!mine.batch->certain) ++report_.statistics.cycled;
  mine.moved = true;
  if (trace_) say(index, "finishes " + mine.meeting->describe());
  if (const auto wrong = mine.meeting->finish(index)) {
    fault(absl::StrCat("on rank ", index, ", ", mine.meeting->describe(), " ",
                       *wrong));
  }
  measure(index);
  const Batch batch = std::move(*mine.batch);
  mine.batch.reset();
  mine.meeting = nullptr;
  mine.coordinator->finished();
  for (const Batch::Entry& entry : batch.entries) {
    if (!entry.submitted_here) continue;
    const int item = mine.callers.in_flight(entry.agreed->key);
    check_result(batch, index, item);
    settle(index, entry.agreed->key, kDone, batch.result, "");
  }
}

void RunningJob::check_result(const Batch& batch, int index, int item) {
  const Item& expected = program_.items[static_cast<std::size_t>(item)];
  const bool joins = expected.request.kind == coordinator::RequestKind::kJoin;
  if (!joins && expected.adds < 0) return;
  const auto [first, is_new] = results_.try_emplace(item, batch.result);
  if (!is_new && first->second != batch.result) {
    fault(absl::StrCat("item ", item, " has result ", batch.result, " on rank ",
                       index, " and ", first->second, " on another"));
  }
  if (!joins) return;
  const auto last = static_cast<int>(batch.result);
  if (std::find(expected.ranks.begin(), expected.ranks.end(), last) ==
          expected.ranks.end() ||
      (expected.last >= 0 && last != expected.last)) {
    fault(absl::StrCat("item ", item, ": the last to join was rank ",
                       expected.last, ", and not ", last));
  }
}

void RunningJob::settle(int index, const Key& key, Outcome outcome,
                        std::int64_t result, const std::string& text) {
  SimulatedRank& mine = rank(index);
  const int item = mine.callers.in_flight(key);
  if (trace_) {
    say(index, absl::StrCat("item ", item, " ", key.to_string(), ": ",
                            describe_outcomes(outcome), " ", text));
  }
  if (item < 0) {
    return fault(absl::StrCat("rank ", index, ": ", key.to_string(),
                              " has an outcome and is not in flight: ", text));
  }
  auto& statistics = report_.statistics;
  statistics.done += outcome == kDone;
  statistics.mismatches += outcome == kMismatch;
  statistics.cancelled += outcome == kCancelled;
  statistics.refused += outcome == kRefused;
  const Item& expected = program_.items[static_cast<std::size_t>(item)];
  if ((expected.allowed & outcome) == 0) {
    fault(absl::StrCat("rank ", index, ": item ", item, " ", key.to_string(),
                       " is ", describe_outcomes(outcome), " and should be ",
                       describe_outcomes(expected.allowed), ": ", text));
  }
  if (outcome == kMismatch) {
    const auto [first, is_new] = mismatches_.try_emplace(item, text);
    if (!is_new && first->second != text) {
      fault(absl::StrCat("item ", item, " fails with different texts: ",
                         first->second, " / ", text));
    }
  }
  mine.callers.settle(key, outcome, result);
  resume_callers(index);
}

}  // namespace hvd::simulation
