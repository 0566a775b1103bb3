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

constexpr char kWait[] = R"("WAIT")";

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
        tracks_.mark(R"("CYCLE_START")", event.ticks);
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
        call_ends(shown(operation), event.ticks);
      }
      return;
    case EventKind::kBatchEnds:
      return batch_ends(event, operations.ended());
    case EventKind::kDoneAtOnce:
      return done_at_once(event);
    case EventKind::kStepEnds:
      return tracks_.mark(R"("STEP_END")", event.ticks);
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

const EventLanes::Lane& EventLanes::lane(std::uint32_t name) {
  const auto [found, is_new] = lanes_.try_emplace(name);
  if (is_new) {
    const trace::Name known = options_.name(name);
    found->second = {.pid = tracks_.process(label_of(known)),
                     .spans = &spans(known)};
  }
  return found->second;
}

EventLanes::Spans& EventLanes::spans(const trace::Name& name) {
  const std::string kind = kind_of(name);
  const Spans made = {.kind = kind,
                      .whole = json_string(kind),
                      .negotiation = json_string("NEGOTIATE_" + kind)};
  return spans_.try_emplace(kind, made).first->second;
}

// "SHM_ADASUM_ALLREDUCE" for the plane "shm-adasum".
const std::string& EventLanes::call(Spans& spans, std::uint16_t plane) {
  const auto [found, is_new] = spans.calls.try_emplace(plane);
  if (is_new) {
    std::string name = absl::AsciiStrToUpper(options_.name(plane).text);
    std::replace(name.begin(), name.end(), '-', '_');
    found->second = json_string(absl::StrCat(name, "_", spans.kind));
  }
  return found->second;
}

const std::string& EventLanes::work(std::uint16_t label) {
  const auto [found, is_new] = work_names_.try_emplace(label);
  if (is_new) found->second = json_string(options_.name(label).text);
  return found->second;
}

EventLanes::Shown& EventLanes::shown(const Operation& operation) {
  const auto [found, is_new] = shown_.try_emplace(operation.id);
  if (is_new) {
    const Lane& of = lane(operation.name);
    found->second = {.track = tracks_.take(of.pid), .spans = of.spans};
  }
  return found->second;
}

void EventLanes::submitted(const Operation& operation) {
  Shown& mine = shown(operation);
  mine.is_open = true;
  tracks_.begin(mine.track, mine.spans->negotiation, *operation.submitted);
}

void EventLanes::entry(const Operation& operation, std::uint64_t ticks) {
  Shown& mine = shown(operation);
  if (mine.is_open) tracks_.end(mine.track, mine.spans->negotiation, ticks);
  mine.is_open = true;
  tracks_.begin(mine.track, mine.spans->whole, ticks);
}

void EventLanes::call_begins(const Operation& operation, const Event& event) {
  Shown& mine = shown(operation);
  mine.call = &call(*mine.spans, event.label);
  tracks_.begin(mine.track, *mine.call, event.ticks);
}

void EventLanes::call_ends(Shown& mine, std::uint64_t ticks) {
  if (mine.call == nullptr) return;
  tracks_.end(mine.track, *std::exchange(mine.call, nullptr), ticks);
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
  Shown& mine = shown(operation);
  call_ends(mine, ticks);
  if (mine.is_open) {
    tracks_.end(mine.track, mine.spans->whole, ticks, R"("abandoned": true)");
  }
  mine.is_open = true;
  tracks_.begin(mine.track, mine.spans->negotiation, ticks);
}

void EventLanes::done_at_once(const Event& event) {
  const std::uint64_t began = event.ticks - trace::high_of(event.value);
  if (options_.mark_cycles && (event.detail & trace::kFirstOfCycle) != 0) {
    tracks_.mark(R"("CYCLE_START")", began);
  }
  const Lane of = lane(event.name);
  const Track track = tracks_.take(of.pid);
  const std::string& name = call(*of.spans, event.label);
  tracks_.begin(track, of.spans->whole, began);
  tracks_.begin(track, name, began);
  tracks_.end(track, name, event.ticks);
  tracks_.end(track, of.spans->whole, event.ticks,
              absl::StrCat(R"("bytes": )", trace::low_of(event.value)));
  tracks_.release(track);
  if (are_awaited_) return;
  show_wait(true, began);
  show_wait(false, event.ticks);
}

void EventLanes::job_breaks(const Event& event) {
  tracks_.mark(R"("JOB_BREAKS")", event.ticks,
               absl::StrCat(R"("reason": )",
                            json_string(options_.name(event.name).text)));
}

void EventLanes::end_all(const Batch& ended, std::uint64_t ticks) {
  for (const Operation& operation : ended.operations) end(operation, ticks);
}

void EventLanes::end(const Operation& operation, std::uint64_t ticks,
                     const char* arguments) {
  Shown& mine = shown(operation);
  call_ends(mine, ticks);
  if (mine.is_open && operation.batch) {
    tracks_.end(mine.track, mine.spans->whole, ticks, arguments_of(operation));
  } else if (mine.is_open) {
    tracks_.end(mine.track, mine.spans->negotiation, ticks, arguments);
  }
  tracks_.release(mine.track);
  shown_.erase(operation.id);
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
    tracks_.begin(track, kWait, ticks);
  } else {
    tracks_.end(track, kWait, ticks);
  }
}

void EventLanes::show_waits(const Operations& operations, std::uint64_t ticks) {
  if (operations.are_awaited() == are_awaited_) return;
  are_awaited_ = !are_awaited_;
  show_wait(are_awaited_, ticks);
}

void EventLanes::work_begins(const Event& event) {
  tracks_.begin(training(event.detail), work(event.label), event.ticks);
  work_[event.detail].push_back(event.label);
}

// Its begin may be missing.
void EventLanes::work_is_done(const Event& event) {
  const std::vector<std::uint16_t>& open = work_[event.detail];
  const auto last = std::find(open.rbegin(), open.rend(), event.label);
  if (last == open.rend()) return;
  end_work(event.detail, static_cast<std::size_t>(open.rend() - last) - 1,
           event.ticks);
}

// Ends a thread's spans from the innermost on, until `down_to` are open.
void EventLanes::end_work(std::uint8_t thread, std::size_t down_to,
                          std::uint64_t ticks) {
  std::vector<std::uint16_t>& open = work_[thread];
  while (open.size() > down_to) {
    tracks_.end(training(thread), work(open.back()), ticks);
    open.pop_back();
  }
}

}  // namespace hvd::telemetry
