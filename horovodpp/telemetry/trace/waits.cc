// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/trace/waits.h"

namespace hvd::telemetry {

using trace::BatchEnd;
using trace::Event;
using trace::EventKind;

void Waits::add(const Event& event) {
  switch (event.kind) {
    case EventKind::kJobBegins:
    case EventKind::kJobBreaks:
    case EventKind::kJobEnds:
      return forget();
    case EventKind::kSubmitted:
      ++operations_[event.name].in_flight;
      return;
    case EventKind::kRefused:
    case EventKind::kMessageDone:
      return complete(event.name);
    case EventKind::kAwaited:
      return await(event.name);
    case EventKind::kBatchBegins:
      batch_.clear();
      return;
    case EventKind::kBatchEntry:
      batch_.push_back(event.name);
      return;
    case EventKind::kBatchEnds:
      return end_batch(event);
    case EventKind::kWorkEnds:
      if (const auto work = on_gpu_.extract(event.value)) {
        complete(work.mapped());
      }
      return;
    case EventKind::kCallBegins:
    case EventKind::kCallEnds:
    case EventKind::kDoneAtOnce:
    case EventKind::kStepEnds:
    case EventKind::kSpanBegins:
    case EventKind::kSpanEnds:
      return;
  }
}

void Waits::forget() {
  operations_.clear();
  awaited_ = 0;
  batch_.clear();
  on_gpu_.clear();
}

// The operation may have ended before the event was written.
void Waits::await(std::uint32_t name) {
  const auto found = operations_.find(name);
  if (found == operations_.end()) return;
  Operation& operation = found->second;
  if (operation.awaited == operation.in_flight) return;
  ++operation.awaited;
  ++awaited_;
}

void Waits::end_batch(const Event& event) {
  const auto how = static_cast<BatchEnd>(event.detail);
  // The operations of an abandoned batch are in flight again.
  if (how == BatchEnd::kAbandoned) return;
  if (how == BatchEnd::kGoesOnOnGpu) {
    on_gpu_[event.value] = batch_;
  } else {
    complete(batch_);
  }
}

void Waits::complete(const std::vector<std::uint32_t>& names) {
  for (const std::uint32_t name : names) complete(name);
}

void Waits::complete(std::uint32_t name) {
  const auto found = operations_.find(name);
  if (found == operations_.end()) return;
  Operation& operation = found->second;
  if (operation.awaited > 0) {
    --operation.awaited;
    --awaited_;
  }
  if (operation.in_flight > 0) --operation.in_flight;
  if (operation.in_flight == 0) operations_.erase(found);
}

}  // namespace hvd::telemetry
