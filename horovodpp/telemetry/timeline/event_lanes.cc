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

// Of the end of an operation that was in a batch.
std::string arguments_of(const Operation& operation) {
  std::string text =
      absl::StrCat(R"("bytes": )", operation.bytes, R"(, "batch": )",
                   trace::low_of(*operation.batch));
  // Numbers begin anew in each epoch.
  const std::uint32_t epoch = trace::high_of(*operation.batch);
  if (epoch > 1) absl::StrAppend(&text, R"(, "epoch": )", epoch);
  if (operation.dtype > 0) {
    const auto dtype = static_cast<DType>(operation.dtype - 1);
    absl::StrAppend(&text, R"(, "dtype": )", json_string(name_of(dtype)));
  }
  return text;
}

}  // namespace

void EventLanes::add(const Event& event, const Operations& operations) {
  last_ticks_ = event.ticks;
  show_waits(operations, event.ticks);
  switch (event.kind) {
    case EventKind::kJobBreaks:
      job_breaks(event);
      [[fallthrough]];
    case EventKind::kJobBegins:
    case EventKind::kJobEnds:
      return end_all(operations.ended(), event.ticks);
    case EventKind::kSubmitted:
      return submitted(*operations.current());
    case EventKind::kRefused:
    case EventKind::kMessageDone:
    case EventKind::kWorkEnds:
      for (const Operation& operation : operations.ended().operations) {
        end(operation, event.ticks,
            event.kind == EventKind::kRefused ? R"("failed": true)" : "");
      }
      return;
    case EventKind::kBatchBegins:
      if (options_.mark_cycles && (event.detail & trace::kFirstOfCycle) != 0) {
        tracks_.mark("CYCLE_START", event.ticks);
      }
      return;
    case EventKind::kBatchEntry:
      if (operations.current() != nullptr) {
        entry(*operations.current(), event.ticks);
      }
      return;
    case EventKind::kCallBegins:
      if (operations.open() == nullptr) return;
      for (const Operation& operation : operations.open()->operations) {
        call_begins(operation, event);
      }
      return;
    case EventKind::kCallEnds:
      if (operations.open() == nullptr) return;
      for (const Operation& operation : operations.open()->operations) {
        call_ends(operation, event.ticks);
      }
      return;
    case EventKind::kBatchEnds:
      return batch_ends(event, operations.ended());
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

void EventLanes::skip(const Operations& operations) {
  end_all(operations.ended(), last_ticks_);
  show_waits(operations, last_ticks_);
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

EventLanes::Shown& EventLanes::shown(const Operation& operation) {
  const auto [found, is_new] = shown_.try_emplace(operation.id);
  if (is_new) found->second.track = take_track(operation.name);
  return found->second;
}

std::string EventLanes::negotiation(const Operation& operation) {
  return absl::StrCat("NEGOTIATE_", lane(operation.name).kind);
}

// "SHM_ADASUM" of "shm-adasum".
std::string EventLanes::plane(std::uint16_t label) {
  std::string name = absl::AsciiStrToUpper(options_.name(label).text);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

void EventLanes::submitted(const Operation& operation) {
  Shown& mine = shown(operation);
  mine.is_open = true;
  tracks_.begin(mine.track, negotiation(operation), *operation.submitted);
}

void EventLanes::entry(const Operation& operation, std::uint64_t ticks) {
  Shown& mine = shown(operation);
  if (mine.is_open) tracks_.end(mine.track, negotiation(operation), ticks);
  mine.is_open = true;
  tracks_.begin(mine.track, lane(operation.name).kind, ticks);
}

void EventLanes::call_begins(const Operation& operation, const Event& event) {
  Shown& mine = shown(operation);
  mine.call = event.label;
  tracks_.begin(
      mine.track,
      absl::StrCat(plane(event.label), "_", lane(operation.name).kind),
      event.ticks);
}

void EventLanes::call_ends(const Operation& operation, std::uint64_t ticks) {
  Shown& mine = shown(operation);
  const auto call = std::exchange(mine.call, std::nullopt);
  if (!call) return;
  tracks_.end(mine.track,
              absl::StrCat(plane(*call), "_", lane(operation.name).kind),
              ticks);
}

void EventLanes::batch_ends(const Event& event, const Batch& batch) {
  const bool is_abandoned =
      static_cast<trace::BatchEnd>(event.detail) == trace::BatchEnd::kAbandoned;
  for (const Operation& operation : batch.operations) {
    if (is_abandoned && operation.submitted) {
      goes_back(operation, event.ticks);
    } else {
      end(operation, event.ticks);
    }
  }
}

// Its batch was abandoned, and it comes again.
void EventLanes::goes_back(const Operation& operation, std::uint64_t ticks) {
  call_ends(operation, ticks);
  Shown& mine = shown(operation);
  if (mine.is_open) {
    tracks_.end(mine.track, lane(operation.name).kind, ticks,
                R"("abandoned": true)");
  }
  mine.is_open = true;
  tracks_.begin(mine.track, negotiation(operation), ticks);
}

void EventLanes::done_at_once(const Event& event) {
  const std::uint64_t began = event.ticks - trace::high_of(event.value);
  if (options_.mark_cycles && (event.detail & trace::kFirstOfCycle) != 0) {
    tracks_.mark("CYCLE_START", began);
  }
  const Track track = take_track(event.name);
  const std::string kind = lane(event.name).kind;
  const std::string call = absl::StrCat(plane(event.label), "_", kind);
  tracks_.begin(track, kind, began);
  tracks_.begin(track, call, began);
  tracks_.end(track, call, event.ticks);
  tracks_.end(track, kind, event.ticks,
              absl::StrCat(R"("bytes": )", trace::low_of(event.value)));
  tracks_.release(track);
  if (are_awaited_) return;
  show_wait(true, began);
  show_wait(false, event.ticks);
}

void EventLanes::job_breaks(const Event& event) {
  tracks_.mark("JOB_BREAKS", event.ticks,
               absl::StrCat(R"("reason": )",
                            json_string(options_.name(event.name).text)));
}

void EventLanes::end_all(const Batch& ended, std::uint64_t ticks) {
  for (const Operation& operation : ended.operations) end(operation, ticks);
}

void EventLanes::end(const Operation& operation, std::uint64_t ticks,
                     const char* arguments) {
  call_ends(operation, ticks);
  const Shown mine = shown(operation);
  shown_.erase(operation.id);
  if (mine.is_open) {
    if (operation.batch) {
      tracks_.end(mine.track, lane(operation.name).kind, ticks,
                  arguments_of(operation));
    } else {
      tracks_.end(mine.track, negotiation(operation), ticks, arguments);
    }
  }
  tracks_.release(mine.track);
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

void EventLanes::show_waits(const Operations& operations, std::uint64_t ticks) {
  if (operations.are_awaited() == are_awaited_) return;
  are_awaited_ = !are_awaited_;
  show_wait(are_awaited_, ticks);
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
