// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/rank_trace.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace hvd::launcher::report {
namespace {

constexpr absl::string_view kNegotiate = "NEGOTIATE_";
constexpr absl::string_view kWait = "WAIT";
constexpr absl::string_view kTraining = "training";
// Their results depend on all ranks.
constexpr std::array<absl::string_view, 5> kOfAllRanks = {
    "ALLREDUCE", "ALLGATHER", "ALLTOALL", "REDUCESCATTER", "BARRIER"};
constexpr std::array<absl::string_view, 10> kOperations = {
    "ALLREDUCE", "ALLGATHER", "ALLTOALL", "REDUCESCATTER", "BARRIER",
    "BROADCAST", "REDUCE",    "GATHER",   "SCATTER",       "JOIN"};

template <typename Names>
bool has(const Names& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The number of a name in a short list, which grows.
int number_of(std::vector<std::string>& names, absl::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  names.emplace_back(name);
  return static_cast<int>(names.size()) - 1;
}

void shift_all(Intervals& set, double us) {
  for (Interval& one : set) {
    one.begin += us;
    one.end += us;
  }
}

void shift_all(std::vector<double>& times, double us) {
  for (double& one : times) one += us;
}

}  // namespace

void RankTrace::shift(double us) {
  extent.begin += us;
  extent.end += us;
  shift_all(negotiations, us);
  shift_all(runs, us);
  shift_all(waits, us);
  shift_all(steps, us);
  shift_all(cycles, us);
  for (WorkSpan& one : work) {
    one.at.begin += us;
    one.at.end += us;
  }
  for (Batch& one : batches) {
    one.arrived += us;
    one.begin += us;
    one.end += us;
  }
  for (TensorUse& one : tensors) shift_all(one.submitted, us);
}

TraceBuilder::TraceBuilder(int rank, std::string file) {
  trace_.rank = rank;
  trace_.file = std::move(file);
}

void TraceBuilder::name_process(std::int64_t pid, const std::string& label) {
  processes_[pid].label = label;
}

void TraceBuilder::add(const TraceElement& element) {
  if (element.phase == 'M') {
    if (element.epoch_us) trace_.epoch_us = *element.epoch_us;
    if (element.name == "lost_events") trace_.lost_events = element.count;
    return;
  }
  const double end = element.time_us + element.duration_us;
  if (!has_events_) trace_.extent = {element.time_us, end};
  has_events_ = true;
  trace_.extent.begin = std::min(trace_.extent.begin, element.time_us);
  trace_.extent.end = std::max(trace_.extent.end, end);
  if (element.phase == 'i' || element.phase == 'I') return mark(element);
  Process& process = processes_[element.pid];
  Thread& thread = process.threads[element.tid];
  if (element.phase == 'B' || element.phase == 'X') {
    thread.open.push_back({element.name, element.time_us});
    if (absl::StartsWith(element.name, kNegotiate)) {
      tensor_of(process).submitted.push_back(element.time_us);
    }
  }
  if (element.phase == 'E') end_span(process, thread, element);
  if (element.phase == 'X') {
    TraceElement ended = element;
    ended.time_us = end;
    end_span(process, thread, ended);
  }
}

void TraceBuilder::mark(const TraceElement& element) {
  if (element.name == "STEP_END") trace_.steps.push_back(element.time_us);
  if (element.name == "CYCLE_START") trace_.cycles.push_back(element.time_us);
  if (element.name == "JOB_BREAKS") trace_.break_reason = element.reason;
}

TensorUse& TraceBuilder::tensor_of(Process& process) {
  if (!process.tensor) {
    process.tensor = trace_.tensors.size();
    trace_.tensors.push_back({.name = process.label});
  }
  return trace_.tensors[*process.tensor];
}

// Horovod's ends have no names.
void TraceBuilder::end_span(Process& process, Thread& thread,
                            const TraceElement& element) {
  if (thread.open.empty()) return;
  const Open span = std::move(thread.open.back());
  thread.open.pop_back();
  const Interval at = {span.begin, std::max(span.begin, element.time_us)};
  if (span.name == kWait) {
    add_last(trace_.waits, at);
  } else if (process.label == kTraining) {
    trace_.work.push_back({number_of(trace_.kinds_of_work, span.name), at});
  } else if (absl::StartsWith(span.name, kNegotiate)) {
    tensor_of(process).waited_us += at.length();
    add_last(trace_.negotiations, at);
    thread.negotiation = at;
    if (element.is_failed) thread.negotiation.reset();
  } else if (has(kOperations, span.name)) {
    end_operation(process, thread, span, element);
  } else if (thread.open.size() == 1 &&
             absl::EndsWith(span.name, "_" + thread.open[0].name)) {
    const absl::string_view plane =
        absl::StripSuffix(span.name, "_" + thread.open[0].name);
    absl::StrAppend(&thread.plane, thread.plane.empty() ? "" : "+", plane);
  }
}

void TraceBuilder::end_operation(Process& process, Thread& thread,
                                 const Open& span,
                                 const TraceElement& element) {
  const Interval at = {span.begin, std::max(span.begin, element.time_us)};
  const std::string plane = std::exchange(thread.plane, {});
  const double arrived =
      thread.negotiation ? thread.negotiation->begin : at.begin;
  add_last(trace_.runs, at);
  thread.negotiation.reset();
  if (element.is_abandoned) return;
  TensorUse& tensor = tensor_of(process);
  ++tensor.calls;
  tensor.bytes += element.bytes;
  tensor.ran_us += at.length();
  std::size_t place = trace_.batches.size();
  std::optional<std::uint64_t> number;
  if (element.batch) {
    Numbered& numbered =
        batches_[static_cast<std::uint64_t>(element.epoch) << 32 |
                 static_cast<std::uint32_t>(*element.batch)];
    // A new epoch, of which the file does not tell, begins with 0 again.
    if (numbered.uses == 0 || trace_.batches[numbered.place].end <= at.begin) {
      numbered.place = place;
      ++numbered.uses;
    }
    place = numbered.place;
    number = static_cast<std::uint64_t>(element.epoch) << 48 |
             static_cast<std::uint64_t>(numbered.uses) << 32 |
             static_cast<std::uint32_t>(*element.batch);
  }
  if (place == trace_.batches.size()) {
    trace_.batches.push_back(
        {.number = number,
         .arrived = arrived,
         .begin = at.begin,
         .plane = plane.empty() ? -1 : number_of(trace_.planes, plane),
         .needs_all = has(kOfAllRanks, span.name)});
  }
  Batch& batch = trace_.batches[place];
  batch.arrived = std::max(batch.arrived, arrived);
  batch.begin = std::min(batch.begin, at.begin);
  batch.end = std::max(batch.end, at.end);
  batch.bytes += element.bytes;
  ++batch.tensors;
}

RankTrace TraceBuilder::finish() {
  for (const auto& [pid, process] : processes_) {
    if (process.label == kTraining) continue;
    for (const auto& [tid, thread] : process.threads) {
      if (!thread.open.empty()) trace_.in_flight.push_back(process.label);
    }
  }
  std::sort(trace_.in_flight.begin(), trace_.in_flight.end());
  trace_.negotiations = united(std::move(trace_.negotiations));
  trace_.runs = united(std::move(trace_.runs));
  trace_.waits = united(std::move(trace_.waits));
  std::stable_sort(
      trace_.batches.begin(), trace_.batches.end(),
      [](const Batch& a, const Batch& b) { return a.begin < b.begin; });
  std::sort(trace_.steps.begin(), trace_.steps.end());
  std::sort(trace_.cycles.begin(), trace_.cycles.end());
  return std::move(trace_);
}

}  // namespace hvd::launcher::report
