// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/timeline/event_lanes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/telemetry/timeline/json_array_file.h"

namespace hvd::telemetry {
namespace {

using trace::Event;
using trace::EventKind;

// As in Horovod: the operation before the name.
std::string label_of(const trace::Name& name) {
  if (name.operation.empty()) return name.text;
  const std::string prefix = name.operation + ".";
  return absl::StartsWith(name.text, prefix) ? name.text : prefix + name.text;
}

std::string kind_of(const trace::Name& name) {
  return name.operation.empty() ? "OPERATION"
                                : absl::AsciiStrToUpper(name.operation);
}

}  // namespace

void EventLanes::add(const Event& event) {
  last_ticks_ = event.ticks;
  const bool waited = waits_.is_any();
  waits_.add(event);
  if (waits_.is_any() != waited) show_wait(!waited, event.ticks);
  switch (event.kind) {
    case EventKind::kJobBegins:
    case EventKind::kJobEnds:
      return end_all(event.ticks);
    case EventKind::kJobBreaks:
      return job_breaks(event);
    case EventKind::kSubmitted:
      return submitted(event);
    case EventKind::kRefused:
    case EventKind::kMessageDone:
      return refused(event);
    case EventKind::kBatchBegins:
      return batch_begins(event);
    case EventKind::kBatchEntry:
      return entry(event);
    case EventKind::kCallBegins:
      return call_begins(event);
    case EventKind::kCallEnds:
      return call_ends(event);
    case EventKind::kBatchEnds:
      return batch_ends(event);
    case EventKind::kWorkEnds:
      return work_ends(event);
    case EventKind::kDoneAtOnce:
      return done_at_once(event);
    case EventKind::kStepEnds:
      return tracks_.mark("STEP_END", event.ticks);
    case EventKind::kSpanBegins:
      return work_begins(event);
    case EventKind::kSpanEnds:
      return work_is_done(event);
    case EventKind::kAwaited:
      return;
  }
}

void EventLanes::skip() {
  end_all(last_ticks_);
  if (waits_.is_any()) show_wait(false, last_ticks_);
  waits_.forget();
  for (const auto& [thread, open] : work_) end_work(thread, 0, last_ticks_);
}

EventLanes::Lane& EventLanes::lane(std::uint32_t name) {
  const auto found = lanes_.find(name);
  if (found != lanes_.end()) return found->second;
  const trace::Name known = options_.name(name);
  Lane& made = lanes_[name];
  made.pid = tracks_.process(label_of(known));
  made.kind = kind_of(known);
  return made;
}

EventLanes::Operation EventLanes::make(std::uint32_t name) {
  return {.name = name, .track = tracks_.take(lane(name).pid)};
}

// The oldest submission of the name; if none was seen, one that begins now.
EventLanes::Operation EventLanes::take_ready(std::uint32_t name) {
  Lane& mine = lane(name);
  if (mine.ready.empty()) return make(name);
  const Operation oldest = mine.ready.front();
  mine.ready.pop_front();
  return oldest;
}

// "SHM_ADASUM" of "shm-adasum".
std::string EventLanes::plane(std::uint16_t label) {
  std::string name = absl::AsciiStrToUpper(options_.name(label).text);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

void EventLanes::submitted(const Event& event) {
  Operation operation = make(event.name);
  operation.is_open = true;
  Lane& mine = lane(event.name);
  tracks_.begin(operation.track, absl::StrCat("NEGOTIATE_", mine.kind),
                event.ticks);
  mine.ready.push_back(operation);
}

void EventLanes::refused(const Event& event) {
  Lane& mine = lane(event.name);
  if (mine.ready.empty()) return;
  const Operation operation = take_ready(event.name);
  tracks_.end(operation.track, absl::StrCat("NEGOTIATE_", mine.kind),
              event.ticks,
              event.kind == EventKind::kRefused ? R"("failed": true)" : "");
  tracks_.release(operation.track);
}

void EventLanes::batch_begins(const Event& event) {
  if (options_.mark_cycles && (event.detail & trace::kFirstOfCycle) != 0) {
    tracks_.mark("CYCLE_START", event.ticks);
  }
  batch_ = {.number = event.value, .began = event.ticks};
}

void EventLanes::entry(const Event& event) {
  Operation operation = take_ready(event.name);
  const Lane& mine = lane(event.name);
  if (operation.is_open) {
    tracks_.end(operation.track, absl::StrCat("NEGOTIATE_", mine.kind),
                event.ticks);
  }
  operation.is_open = true;
  operation.dtype = event.detail;
  operation.bytes = event.value;
  tracks_.begin(operation.track, mine.kind, event.ticks);
  batch_.operations.push_back(operation);
}

void EventLanes::call_begins(const Event& event) {
  batch_.call = plane(event.label);
  for (const Operation& operation : batch_.operations) {
    tracks_.begin(operation.track,
                  absl::StrCat(batch_.call, "_", lane(operation.name).kind),
                  event.ticks);
  }
}

void EventLanes::call_ends(const Event& event) {
  if (batch_.call.empty()) return;
  for (const Operation& operation : batch_.operations) {
    tracks_.end(operation.track,
                absl::StrCat(batch_.call, "_", lane(operation.name).kind),
                event.ticks);
  }
  batch_.call.clear();
}

void EventLanes::batch_ends(const Event& event) {
  call_ends(event);
  Batch ended = std::exchange(batch_, {});
  const auto how = static_cast<trace::BatchEnd>(event.detail);
  if (how == trace::BatchEnd::kGoesOnOnGpu) {
    on_gpu_[event.value] = std::move(ended);
    return;
  }
  for (const Operation& operation : ended.operations) {
    if (how != trace::BatchEnd::kAbandoned) {
      end(operation, event.ticks, event.value);
      continue;
    }
    // It comes again.
    Lane& mine = lane(operation.name);
    tracks_.end(operation.track, mine.kind, event.ticks,
                R"("abandoned": true)");
    tracks_.begin(operation.track, absl::StrCat("NEGOTIATE_", mine.kind),
                  event.ticks);
    mine.ready.push_front(operation);
  }
}

void EventLanes::work_ends(const Event& event) {
  const auto found = on_gpu_.find(event.value);
  if (found == on_gpu_.end()) return;
  for (const Operation& operation : found->second.operations) {
    end(operation, event.ticks, event.value);
  }
  on_gpu_.erase(found);
}

void EventLanes::done_at_once(const Event& event) {
  const std::uint64_t began = event.ticks - trace::high_of(event.value);
  if (options_.mark_cycles && (event.detail & trace::kFirstOfCycle) != 0) {
    tracks_.mark("CYCLE_START", began);
  }
  const Operation operation = make(event.name);
  const std::string kind = lane(event.name).kind;
  const std::string call = absl::StrCat(plane(event.label), "_", kind);
  tracks_.begin(operation.track, kind, began);
  tracks_.begin(operation.track, call, began);
  tracks_.end(operation.track, call, event.ticks);
  tracks_.end(operation.track, kind, event.ticks,
              absl::StrCat(R"("bytes": )", trace::low_of(event.value)));
  tracks_.release(operation.track);
  if (waits_.is_any()) return;
  show_wait(true, began);
  show_wait(false, event.ticks);
}

void EventLanes::job_breaks(const Event& event) {
  tracks_.mark("JOB_BREAKS", event.ticks,
               absl::StrCat(R"("reason": )",
                            json_string(options_.name(event.name).text)));
  end_all(event.ticks);
}

void EventLanes::end_all(std::uint64_t ticks) {
  call_ends({.ticks = ticks});
  on_gpu_[batch_.number] = std::exchange(batch_, {});
  for (const auto& [number, batch] : std::exchange(on_gpu_, {})) {
    for (const Operation& operation : batch.operations) {
      end(operation, ticks, number);
    }
  }
  for (auto& [name, lane] : lanes_) {
    for (const Operation& operation : std::exchange(lane.ready, {})) {
      tracks_.end(operation.track, absl::StrCat("NEGOTIATE_", lane.kind),
                  ticks);
      tracks_.release(operation.track);
    }
  }
}

void EventLanes::end(const Operation& operation, std::uint64_t ticks,
                     std::uint64_t batch) {
  std::string arguments = absl::StrCat(R"("bytes": )", operation.bytes,
                                       R"(, "batch": )", trace::low_of(batch));
  // Numbers begin anew in each epoch.
  const std::uint32_t epoch = trace::high_of(batch);
  if (epoch > 1) absl::StrAppend(&arguments, R"(, "epoch": )", epoch);
  if (operation.dtype > 0) {
    const auto dtype = static_cast<DType>(operation.dtype - 1);
    absl::StrAppend(&arguments, R"(, "dtype": )", json_string(name_of(dtype)));
  }
  tracks_.end(operation.track, lane(operation.name).kind, ticks, arguments);
  tracks_.release(operation.track);
}

Track EventLanes::training(std::uint8_t thread) {
  // Viewers may take thread 0 for another one.
  const Track track = {.pid = tracks_.process("training"),
                       .thread = thread + 1};
  tracks_.name_thread(track, absl::StrCat("thread ", thread));
  return track;
}

// Begins or ends the time in which threads of the program are blocked.
void EventLanes::show_wait(bool begins, std::uint64_t ticks) {
  const Track track = {.pid = tracks_.process("waits"), .thread = 1};
  if (begins) {
    tracks_.begin(track, "WAIT", ticks);
  } else {
    tracks_.end(track, "WAIT", ticks);
  }
}

void EventLanes::work_begins(const Event& event) {
  std::string what = options_.name(event.label).text;
  tracks_.begin(training(event.detail), what, event.ticks);
  work_[event.detail].push_back(std::move(what));
}

// Its begin may be missing.
void EventLanes::work_is_done(const Event& event) {
  const std::string what = options_.name(event.label).text;
  const std::vector<std::string>& open = work_[event.detail];
  const auto last = std::find(open.rbegin(), open.rend(), what);
  if (last == open.rend()) return;
  end_work(event.detail, static_cast<std::size_t>(open.rend() - last) - 1,
           event.ticks);
}

// Ends a thread's spans from the innermost on, until `down_to` are open.
void EventLanes::end_work(std::uint8_t thread, std::size_t down_to,
                          std::uint64_t ticks) {
  std::vector<std::string>& open = work_[thread];
  while (open.size() > down_to) {
    tracks_.end(training(thread), open.back(), ticks);
    open.pop_back();
  }
}

}  // namespace hvd::telemetry
