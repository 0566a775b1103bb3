// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/steps/step_meter.h"

#include <algorithm>
#include <utility>

namespace hvd::telemetry {

using trace::BatchEnd;
using trace::Event;
using trace::EventKind;

void StepMeter::add(const Event& event) {
  advance(options_.nanoseconds(event.ticks));
  waits_.add(event);
  switch (event.kind) {
    case EventKind::kJobBegins:
      return begin_job();
    case EventKind::kJobBreaks:
    case EventKind::kJobEnds:
      return skip();
    case EventKind::kBatchBegins:
      begins_cycle(event);
      in_batch_ = true;
      return;
    case EventKind::kBatchEntry:
      step_.bytes += event.value;
      return;
    case EventKind::kBatchEnds:
      return end_batch(event);
    case EventKind::kWorkEnds:
      on_gpu_.erase(event.value);
      return;
    case EventKind::kDoneAtOnce:
      return done_at_once(event);
    case EventKind::kStepEnds:
      has_marks_ = true;
      return end_step();
    case EventKind::kSubmitted:
    case EventKind::kRefused:
    case EventKind::kMessageDone:
    case EventKind::kAwaited:
    case EventKind::kCallBegins:
    case EventKind::kCallEnds:
      return;
    case EventKind::kSpanBegins:
      return begin_span(event.label);
    case EventKind::kSpanEnds:
      return end_span(event.label);
  }
}

void StepMeter::skip() {
  began_.reset();
  waits_.forget();
  in_batch_ = false;
  on_gpu_.clear();
  loading_ = saving_ = 0;
}

void StepMeter::begin_job() {
  skip();
  has_marks_ = false;
  options_.job();
}

// Events of two threads may be out of order by some nanoseconds.
void StepMeter::advance(std::uint64_t now) {
  if (now <= now_) return;
  const std::uint64_t passed = now - std::exchange(now_, now);
  if (waits_.is_any()) {
    step_.waited += passed;
    return;
  }
  if (in_batch_ || !on_gpu_.empty()) step_.hidden += passed;
  if (loading_ > 0) step_.data += passed;
  if (saving_ > 0) step_.snapshot += passed;
}

void StepMeter::end_step() {
  if (began_) {
    step_.nanoseconds = now_ - *began_;
    step_.waited = std::min(step_.waited, step_.nanoseconds);
    options_.step(step_);
  }
  began_ = now_;
  step_ = {};
}

void StepMeter::begins_cycle(const Event& event) {
  if (!has_marks_ && event.detail == trace::kFirstOfCycle) end_step();
}

void StepMeter::done_at_once(const Event& event) {
  begins_cycle(event);
  const std::uint64_t took = trace::high_of(event.value);
  if (!waits_.is_any()) {
    step_.waited += now_ - options_.nanoseconds(event.ticks - took);
  }
  step_.bytes += trace::low_of(event.value);
  ++step_.batches;
}

void StepMeter::end_batch(const Event& event) {
  in_batch_ = false;
  const auto how = static_cast<BatchEnd>(event.detail);
  if (how == BatchEnd::kAbandoned) return;
  ++step_.batches;
  if (how == BatchEnd::kGoesOnOnGpu) on_gpu_.insert(event.value);
}

int* StepMeter::open_spans(std::uint16_t label) {
  const std::string work = options_.label(label);
  if (work == "data") return &loading_;
  return work == "snapshot" ? &saving_ : nullptr;
}

void StepMeter::begin_span(std::uint16_t label) {
  if (int* open = open_spans(label)) ++*open;
}

// A span may have begun before the first event.
void StepMeter::end_span(std::uint16_t label) {
  if (int* open = open_spans(label); open != nullptr && *open > 0) --*open;
}

}  // namespace hvd::telemetry
