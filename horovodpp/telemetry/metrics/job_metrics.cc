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

void JobMetrics::add(const Event& event) {
  switch (event.kind) {
    case EventKind::kJobBegins:
      return job_begins(event);
    case EventKind::kJobBreaks:
      return job_breaks(event);
    case EventKind::kJobEnds:
      return forget_all();
    case EventKind::kSubmitted:
      return submitted(event);
    case EventKind::kRefused:
      return refused(event);
    case EventKind::kMessageDone:
      return message_done(event);
    case EventKind::kBatchBegins:
      batch_ = {.began = event.ticks};
      return;
    case EventKind::kBatchEntry:
      return entry(event);
    case EventKind::kCallBegins:
      return call_begins(event);
    case EventKind::kBatchEnds:
      return batch_ends(event);
    case EventKind::kWorkEnds:
      return work_ends(event);
    case EventKind::kDoneAtOnce:
      return done_at_once(event);
    case EventKind::kAwaited:
      return awaited(event);
    case EventKind::kStepEnds:
      return step_ends(event);
    case EventKind::kCallEnds:
    case EventKind::kSpanBegins:
    case EventKind::kSpanEnds:
      return;
  }
}

void JobMetrics::missed(std::uint64_t count) {
  lost_events_ += count;
  forget_all();
}

JobMetrics::Named& JobMetrics::named(std::uint32_t name) {
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  std::string kind = options_.name(name).operation;
  if (kind.empty()) kind = kUnknown;
  return names_.emplace(name, Named{.kind = std::move(kind)}).first->second;
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

void JobMetrics::submitted(const Event& event) {
  Named& name = named(event.name);
  name.submitted.push_back(event.ticks);
  ++name.in_flight;
}

void JobMetrics::refused(const Event& event) {
  ++by_kind_[named(event.name).kind].failed;
  message_done(event);
}

void JobMetrics::message_done(const Event& event) {
  Named& name = named(event.name);
  if (name.submitted.empty()) return;
  name.submitted.erase(name.submitted.begin());
  leave(name, event.ticks);
}

void JobMetrics::entry(const Event& event) {
  if (!batch_) return;
  Entry entry{.name = event.name, .bytes = event.value};
  auto& submitted = named(event.name).submitted;
  if (!submitted.empty()) {
    entry.submitted = submitted.front();
    submitted.erase(submitted.begin());
  }
  batch_->entries.push_back(entry);
}

// A batch may first make a call without data, in which its ranks meet.
void JobMetrics::call_begins(const Event& event) {
  if (!batch_) return;
  if (batch_->plane != trace::kNoName && event.value < batch_->plane_bytes) {
    return;
  }
  batch_->plane = event.label;
  batch_->plane_bytes = event.value;
}

void JobMetrics::batch_ends(const Event& event) {
  if (!batch_) return;
  Batch ended = *std::exchange(batch_, std::nullopt);
  switch (static_cast<trace::BatchEnd>(event.detail)) {
    case trace::BatchEnd::kDone:
      return finish(ended, event.ticks);
    case trace::BatchEnd::kAbandoned:
      return put_back(ended);
    case trace::BatchEnd::kFailed:
      return fail(ended, event.ticks);
    case trace::BatchEnd::kGoesOnOnGpu:
      on_gpu_[event.value] = std::move(ended);
      return;
  }
}

void JobMetrics::work_ends(const Event& event) {
  const auto found = on_gpu_.find(event.value);
  if (found == on_gpu_.end()) return;
  finish(found->second, event.ticks);
  on_gpu_.erase(found);
}

void JobMetrics::done_at_once(const Event& event) {
  const std::uint64_t bytes = trace::low_of(event.value);
  const double took =
      seconds(event.ticks - trace::high_of(event.value), event.ticks);
  const Named& name = named(event.name);
  OfPlane& here = of_plane(name.kind, event.label);
  ++here.operations;
  here.bytes += bytes;
  here.batch_seconds.observe(took);
  here.batch_operations.observe(1);
  here.batch_bytes.observe(static_cast<double>(bytes));
  // The thread that has called is the one that executes.
  by_kind_[name.kind].blocked += took;
}

// An operation may end before the thread that is about to wait has said so.
void JobMetrics::awaited(const Event& event) {
  Named& name = named(event.name);
  if (name.in_flight > 0) name.awaited.push_back(event.ticks);
}

void JobMetrics::step_ends(const Event& event) {
  ++steps_;
  if (last_step_) step_seconds_.observe(seconds(*last_step_, event.ticks));
  last_step_ = event.ticks;
}

void JobMetrics::job_begins(const Event& event) {
  forget_all();
  rank_ = static_cast<int>(trace::low_of(event.value));
  size_ = static_cast<int>(trace::high_of(event.value));
  if (std::exchange(is_broken_, false)) ++reforms_;
}

void JobMetrics::job_breaks(const Event& event) {
  ++breaks_;
  is_broken_ = true;
  for (auto& [number, name] : names_) {
    by_kind_[name.kind].failed += name.in_flight;
    while (name.in_flight > 0) leave(name, event.ticks);
  }
  forget_all();
}

void JobMetrics::finish(const Batch& batch, std::uint64_t ticks) {
  if (batch.entries.empty()) return;
  std::uint64_t bytes = 0;
  for (const Entry& entry : batch.entries) {
    Named& name = named(entry.name);
    OfPlane& here = of_plane(name.kind, batch.plane);
    ++here.operations;
    here.bytes += entry.bytes;
    bytes += entry.bytes;
    if (!entry.submitted) continue;
    by_kind_[name.kind].negotiation.observe(
        seconds(*entry.submitted, batch.began));
    leave(name, ticks);
  }
  // All entries of a batch have one kind.
  OfPlane& here = of_plane(named(batch.entries.front().name).kind, batch.plane);
  here.batch_seconds.observe(seconds(batch.began, ticks));
  here.batch_operations.observe(static_cast<double>(batch.entries.size()));
  here.batch_bytes.observe(static_cast<double>(bytes));
}

void JobMetrics::fail(const Batch& batch, std::uint64_t ticks) {
  for (const Entry& entry : batch.entries) {
    Named& name = named(entry.name);
    ++by_kind_[name.kind].failed;
    if (entry.submitted) leave(name, ticks);
  }
}

// The operations of an abandoned batch come again.
void JobMetrics::put_back(const Batch& batch) {
  for (const Entry& entry : batch.entries) {
    if (!entry.submitted) continue;
    auto& submitted = named(entry.name).submitted;
    submitted.insert(submitted.begin(), *entry.submitted);
  }
}

// An operation of that name has ended.
void JobMetrics::leave(Named& name, std::uint64_t ticks) {
  if (name.in_flight > 0) --name.in_flight;
  for (const std::uint64_t since : name.awaited) {
    by_kind_[name.kind].blocked += seconds(since, ticks);
  }
  name.awaited.clear();
}

void JobMetrics::forget_all() {
  batch_.reset();
  on_gpu_.clear();
  last_step_.reset();
  for (auto& [number, name] : names_) {
    name.submitted.clear();
    name.awaited.clear();
    name.in_flight = 0;
  }
}

}  // namespace hvd::telemetry
