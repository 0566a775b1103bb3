// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/job_metrics.h"

#include <algorithm>

namespace hvd::telemetry {
namespace {

using trace::Event;
using trace::EventKind;

constexpr char kUnknown[] = "unknown";  // A kind.
constexpr char kNoPlane[] = "none";     // A barrier may need none.

}  // namespace

JobMetrics::JobMetrics(Options options)
    : options_(std::move(options)),
      rank_(options_.rank),
      size_(options_.size) {}

void JobMetrics::add(const Event& event, const Operations& operations) {
  in_flight_ = operations.in_flight();
  switch (event.kind) {
    case EventKind::kJobBegins:
      return job_begins(event);
    case EventKind::kJobBreaks:
      return job_breaks(operations.ended(), event.ticks);
    case EventKind::kJobEnds:
      last_step_.reset();
      return;
    case EventKind::kRefused:
      ++by_kind_[kind(event.name)].failed;
      [[fallthrough]];
    case EventKind::kMessageDone:
      for (const Operation& operation : operations.ended().operations) {
        unblocked(operation, event.ticks);
      }
      return;
    case EventKind::kBatchEnds:
      return batch_ends(operations.ended(),
                        static_cast<trace::BatchEnd>(event.detail),
                        event.ticks);
    case EventKind::kWorkEnds:
      return done(operations.ended(), event.ticks);
    case EventKind::kDoneAtOnce:
      return done_at_once(event);
    case EventKind::kStepEnds:
      return step_ends(event);
    case EventKind::kSubmitted:
    case EventKind::kBatchBegins:
    case EventKind::kBatchEntry:
    case EventKind::kCallBegins:
    case EventKind::kCallEnds:
    case EventKind::kAwaited:
    case EventKind::kSpanBegins:
    case EventKind::kSpanEnds:
      return;
  }
}

void JobMetrics::missed(std::uint64_t count) {
  lost_events_ += count;
  in_flight_ = 0;
  last_step_.reset();
}

const std::string& JobMetrics::kind(std::uint32_t name) {
  const auto [known, is_new] = kinds_.try_emplace(name);
  if (is_new) {
    known->second = options_.name(name).operation;
    if (known->second.empty()) known->second = kUnknown;
  }
  return known->second;
}

JobMetrics::OfPlane& JobMetrics::of_plane(const std::string& kind,
                                          std::uint16_t plane) {
  const auto [known, is_new] = planes_.try_emplace(plane);
  if (is_new) {
    known->second =
        plane == trace::kNoName ? kNoPlane : options_.name(plane).text;
  }
  return by_place_[{kind, known->second}];
}

// Ticks of two threads may be out of order by some nanoseconds.
double JobMetrics::seconds(std::uint64_t from, std::uint64_t to) const {
  const std::uint64_t begin = options_.nanoseconds(from);
  const std::uint64_t end = std::max(begin, options_.nanoseconds(to));
  return static_cast<double>(end - begin) / 1e9;
}

void JobMetrics::done_at_once(const Event& event) {
  const std::uint64_t bytes = trace::low_of(event.value);
  const double took =
      seconds(event.ticks - trace::high_of(event.value), event.ticks);
  OfPlane& here = of_plane(kind(event.name), event.label);
  ++here.operations;
  here.bytes += bytes;
  here.batch_seconds.observe(took);
  here.batch_operations.observe(1);
  here.batch_bytes.observe(static_cast<double>(bytes));
  // The thread that has called is the one that executes.
  by_kind_[kind(event.name)].blocked += took;
}

// Of a failed batch, also operations that only other ranks have submitted.
void JobMetrics::batch_ends(const Batch& batch, trace::BatchEnd how,
                            std::uint64_t ticks) {
  if (how == trace::BatchEnd::kDone) return done(batch, ticks);
  if (how != trace::BatchEnd::kFailed) return;
  for (const Operation& operation : batch.operations) {
    ++by_kind_[kind(operation.name)].failed;
    unblocked(operation, ticks);
  }
}

void JobMetrics::done(const Batch& batch, std::uint64_t ticks) {
  if (batch.operations.empty()) return;
  std::uint64_t bytes = 0;
  for (const Operation& operation : batch.operations) {
    const std::string& of = kind(operation.name);
    OfPlane& here = of_plane(of, batch.plane);
    ++here.operations;
    here.bytes += operation.bytes;
    bytes += operation.bytes;
    if (!operation.submitted) continue;
    by_kind_[of].negotiation.observe(
        seconds(*operation.submitted, batch.began));
    unblocked(operation, ticks);
  }
  // All operations of a batch have one kind.
  OfPlane& here = of_plane(kind(batch.operations.front().name), batch.plane);
  here.batch_seconds.observe(seconds(batch.began, ticks));
  here.batch_operations.observe(static_cast<double>(batch.operations.size()));
  here.batch_bytes.observe(static_cast<double>(bytes));
}

void JobMetrics::step_ends(const Event& event) {
  ++steps_;
  if (last_step_) step_seconds_.observe(seconds(*last_step_, event.ticks));
  last_step_ = event.ticks;
}

void JobMetrics::job_begins(const Event& event) {
  last_step_.reset();
  rank_ = static_cast<int>(trace::low_of(event.value));
  size_ = static_cast<int>(trace::high_of(event.value));
  if (std::exchange(is_broken_, false)) ++reforms_;
}

void JobMetrics::job_breaks(const Batch& in_flight, std::uint64_t ticks) {
  ++breaks_;
  is_broken_ = true;
  last_step_.reset();
  for (const Operation& operation : in_flight.operations) {
    if (!operation.submitted) continue;
    ++by_kind_[kind(operation.name)].failed;
    unblocked(operation, ticks);
  }
}

// The operation has ended.
void JobMetrics::unblocked(const Operation& operation, std::uint64_t ticks) {
  if (!operation.awaited) return;
  by_kind_[kind(operation.name)].blocked += seconds(*operation.awaited, ticks);
}

}  // namespace hvd::telemetry
