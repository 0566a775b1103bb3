// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/trace/operations.h"

#include <utility>

namespace hvd::telemetry {

using trace::BatchEnd;
using trace::Event;
using trace::EventKind;

void Operations::add(const Event& event) {
  current_ = nullptr;
  ended_.operations.clear();
  switch (event.kind) {
    case EventKind::kJobBegins:
    case EventKind::kJobBreaks:
    case EventKind::kJobEnds:
      return forget();
    case EventKind::kSubmitted:
      return submit(event);
    case EventKind::kRefused:
    case EventKind::kMessageDone:
      return end_ready(event);
    case EventKind::kAwaited: {
      // The operation may have ended before the event was written.
      const auto found = names_.find(event.name);
      if (found == names_.end()) return;
      Named& name = found->second;
      if (name.awaited.size() >= name.in_flight) return;
      name.awaited.push_back(event.ticks);
      ++awaited_;
      return;
    }
    case EventKind::kBatchBegins:
      open_ = {.number = event.value, .began = event.ticks};
      return;
    case EventKind::kBatchEntry:
      return enter(event);
    case EventKind::kCallBegins:
      return call(event);
    case EventKind::kBatchEnds:
      return end_batch(event);
    case EventKind::kWorkEnds:
      if (auto work = on_gpu_.extract(event.value)) {
        end(std::move(work.mapped()));
      }
      return;
    case EventKind::kCallEnds:
    case EventKind::kDoneAtOnce:
    case EventKind::kStepEnds:
    case EventKind::kSpanBegins:
    case EventKind::kSpanEnds:
      return;
  }
}

void Operations::forget() {
  current_ = nullptr;
  Batch all;
  const auto take = [&all](std::vector<Operation>& operations) {
    all.operations.insert(all.operations.end(), operations.begin(),
                          operations.end());
  };
  if (open_) take(open_->operations);
  for (auto& [number, batch] : on_gpu_) take(batch.operations);
  for (auto& [number, name] : names_) take(name.ready);
  end(std::move(all));
  names_.clear();
  open_.reset();
  on_gpu_.clear();
  in_flight_ = awaited_ = 0;
}

void Operations::submit(const Event& event) {
  Named& name = names_[event.name];
  name.ready.push_back(
      {.id = ++next_id_, .name = event.name, .submitted = event.ticks});
  ++name.in_flight;
  ++in_flight_;
  current_ = &name.ready.back();
}

void Operations::enter(const Event& event) {
  if (!open_) return;
  Operation operation = {.id = 0, .name = event.name};
  const auto found = names_.find(event.name);
  if (found != names_.end() && !found->second.ready.empty()) {
    std::vector<Operation>& ready = found->second.ready;
    operation = ready.front();
    ready.erase(ready.begin());
  } else {
    operation.id = ++next_id_;
  }
  operation.batch = open_->number;
  operation.dtype = event.detail;
  operation.bytes = event.value;
  open_->operations.push_back(operation);
  current_ = &open_->operations.back();
}

// A batch may first make a call without data, in which its ranks meet.
void Operations::call(const Event& event) {
  if (!open_) return;
  if (open_->plane != trace::kNoName && event.value < open_->plane_bytes) {
    return;
  }
  open_->plane = event.label;
  open_->plane_bytes = event.value;
}

void Operations::end_batch(const Event& event) {
  if (!open_) return;
  Batch batch = *std::exchange(open_, std::nullopt);
  switch (static_cast<BatchEnd>(event.detail)) {
    case BatchEnd::kDone:
    case BatchEnd::kFailed:
      return end(std::move(batch));
    case BatchEnd::kAbandoned:
      put_back(batch.operations);
      ended_ = std::move(batch);
      return;
    case BatchEnd::kGoesOnOnGpu:
      on_gpu_[event.value] = std::move(batch);
      return;
  }
}

void Operations::end_ready(const Event& event) {
  const auto found = names_.find(event.name);
  if (found == names_.end() || found->second.ready.empty()) return;
  std::vector<Operation>& ready = found->second.ready;
  Batch single;
  single.operations.push_back(ready.front());
  ready.erase(ready.begin());
  end(std::move(single));
}

// They come again, before later ones of their names.
void Operations::put_back(const std::vector<Operation>& abandoned) {
  for (auto at = abandoned.rbegin(); at != abandoned.rend(); ++at) {
    if (!at->submitted) continue;
    std::vector<Operation>& ready = names_[at->name].ready;
    ready.insert(ready.begin(), *at);
    ready.front().batch.reset();
  }
}

void Operations::end(Batch batch) {
  for (Operation& operation : batch.operations) leave(operation);
  ended_ = std::move(batch);
}

void Operations::leave(Operation& operation) {
  if (!operation.submitted) return;
  Named& name = names_[operation.name];
  --name.in_flight;
  --in_flight_;
  if (name.awaited.empty()) return;
  operation.awaited = name.awaited.front();
  name.awaited.erase(name.awaited.begin());
  --awaited_;
}

}  // namespace hvd::telemetry
