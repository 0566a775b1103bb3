// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/steps/step_meter.h"

#include <algorithm>
#include <utility>

namespace hvd::telemetry {

using trace::BatchEnd;
using trace::Event;
using trace::EventKind;

void StepMeter::add(const Event& event, const Operations& operations) {
  advance(options_.nanoseconds(event.ticks));
  are_awaited_ = operations.are_awaited();
  are_executed_ = operations.are_executed();
  switch (event.kind) {
    case EventKind::kJobBegins:
      return begin_job();
    case EventKind::kJobBreaks:
    case EventKind::kJobEnds:
      return skip();
    case EventKind::kBatchBegins:
      return begins_cycle(event);
    case EventKind::kBatchEntry:
      step_.bytes += event.value;
      return;
    case EventKind::kBatchEnds:
      if (static_cast<BatchEnd>(event.detail) != BatchEnd::kAbandoned) {
        ++step_.batches;
      }
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
    case EventKind::kWorkEnds:
      return;
    case EventKind::kSpanBegins:
      return begin_span(event.label);
    case EventKind::kSpanEnds:
      return end_span(event.label);
  }
}

void StepMeter::skip() {
  began_.reset();
  are_awaited_ = are_executed_ = false;
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
  if (are_awaited_) {
    step_.waited += passed;
    return;
  }
  if (are_executed_) step_.hidden += passed;
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
  if (!are_awaited_) {
    step_.waited += now_ - options_.nanoseconds(event.ticks - took);
  }
  step_.bytes += trace::low_of(event.value);
  ++step_.batches;
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
