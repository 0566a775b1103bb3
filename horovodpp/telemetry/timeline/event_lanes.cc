// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/timeline/event_lanes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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
  switch (event.kind) {
    case EventKind::kJobBegins:
    case EventKind::kJobEnds:
      return end_all(event.ticks);
    case EventKind::kJobBreaks:
      return job_breaks(event);
    case EventKind::kSubmitted:
      return submitted(event);
    case EventKind::kRefused:
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
    case EventKind::kAwaited:
    case EventKind::kStepEnds:
    case EventKind::kSpanBegins:
    case EventKind::kSpanEnds:
      return;
  }
}

void EventLanes::skip() { end_all(last_ticks_); }

std::string EventLanes::take() { return std::exchange(text_, {}); }

EventLanes::Lane& EventLanes::lane(std::uint32_t name) {
  const auto found = lanes_.find(name);
  if (found != lanes_.end()) return found->second;
  const trace::Name known = options_.name(name);
  const std::string label = label_of(known);
  const int next = static_cast<int>(pids_.size()) + 1;
  const auto [pid, is_new] = pids_.try_emplace(label, next);
  if (is_new) {
    threads_.emplace_back();
    write(absl::StrCat(R"({"name": "process_name", "ph": "M", "pid": )", next,
                       R"(, "args": {"name": )", json_string(label), "}}"));
    write(absl::StrCat(R"({"name": "process_sort_index", "ph": "M", "pid": )",
                       next, R"(, "args": {"sort_index": )", next, "}}"));
  }
  Lane& made = lanes_[name];
  made.pid = pid->second;
  made.kind = kind_of(known);
  return made;
}

EventLanes::Operation EventLanes::make(std::uint32_t name) {
  auto& threads = threads_[static_cast<std::size_t>(lane(name).pid - 1)];
  std::size_t free = 0;
  while (free < threads.size() && threads[free].is_used) ++free;
  if (free == threads.size()) threads.emplace_back();
  threads[free].is_used = true;
  return {.name = name, .thread = static_cast<int>(free)};
}

EventLanes::Thread& EventLanes::thread_of(const Operation& operation) {
  auto& threads =
      threads_[static_cast<std::size_t>(lane(operation.name).pid - 1)];
  return threads[static_cast<std::size_t>(operation.thread)];
}

void EventLanes::release(const Operation& operation) {
  thread_of(operation).is_used = false;
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
  begin_span(operation, absl::StrCat("NEGOTIATE_", mine.kind), event.ticks);
  mine.ready.push_back(operation);
}

void EventLanes::refused(const Event& event) {
  Lane& mine = lane(event.name);
  if (mine.ready.empty()) return;
  const Operation operation = take_ready(event.name);
  end_span(operation, absl::StrCat("NEGOTIATE_", mine.kind), event.ticks,
           R"("failed": true)");
  release(operation);
}

void EventLanes::batch_begins(const Event& event) {
  if (options_.mark_cycles && (event.detail & trace::kFirstOfCycle) != 0) {
    mark("CYCLE_START", event.ticks);
  }
  batch_ = {.number = event.value, .began = event.ticks};
}

void EventLanes::entry(const Event& event) {
  Operation operation = take_ready(event.name);
  const Lane& mine = lane(event.name);
  if (operation.is_open) {
    end_span(operation, absl::StrCat("NEGOTIATE_", mine.kind), event.ticks);
  }
  operation.is_open = true;
  operation.dtype = event.detail;
  operation.bytes = event.value;
  begin_span(operation, mine.kind, event.ticks);
  batch_.operations.push_back(operation);
}

void EventLanes::call_begins(const Event& event) {
  batch_.call = plane(event.label);
  for (const Operation& operation : batch_.operations) {
    begin_span(operation,
               absl::StrCat(batch_.call, "_", lane(operation.name).kind),
               event.ticks);
  }
}

void EventLanes::call_ends(const Event& event) {
  if (batch_.call.empty()) return;
  for (const Operation& operation : batch_.operations) {
    end_span(operation,
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
    end_span(operation, mine.kind, event.ticks, R"("abandoned": true)");
    begin_span(operation, absl::StrCat("NEGOTIATE_", mine.kind), event.ticks);
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
    mark("CYCLE_START", began);
  }
  const Operation operation = make(event.name);
  const std::string kind = lane(event.name).kind;
  const std::string call = absl::StrCat(plane(event.label), "_", kind);
  begin_span(operation, kind, began);
  begin_span(operation, call, began);
  end_span(operation, call, event.ticks);
  end_span(operation, kind, event.ticks,
           absl::StrCat(R"("bytes": )", trace::low_of(event.value)));
  release(operation);
}

void EventLanes::job_breaks(const Event& event) {
  mark("JOB_BREAKS", event.ticks,
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
      end_span(operation, absl::StrCat("NEGOTIATE_", lane.kind), ticks);
      release(operation);
    }
  }
}

void EventLanes::end(const Operation& operation, std::uint64_t ticks,
                     std::uint64_t batch) {
  std::string arguments = absl::StrCat(R"("bytes": )", operation.bytes,
                                       R"(, "batch": )", trace::low_of(batch));
  if (operation.dtype > 0) {
    const auto dtype = static_cast<DType>(operation.dtype - 1);
    absl::StrAppend(&arguments, R"(, "dtype": )", json_string(name_of(dtype)));
  }
  end_span(operation, lane(operation.name).kind, ticks, arguments);
  release(operation);
}

void EventLanes::write(std::string_view element) {
  if (!text_.empty()) text_ += ",\n";
  text_ += element;
}

// Microseconds, as the format demands.
std::string EventLanes::place(const Operation& operation, std::uint64_t ticks) {
  std::uint64_t& last = thread_of(operation).last;
  const std::uint64_t ns = std::max(last, options_.nanoseconds(ticks));
  last = ns;
  std::string text = absl::StrFormat(R"("ts": %d.%03d, "pid": %d)", ns / 1000,
                                     ns % 1000, lane(operation.name).pid);
  if (operation.thread > 0) {
    absl::StrAppend(&text, R"(, "tid": )", operation.thread);
  }
  return text;
}

void EventLanes::begin_span(const Operation& operation, std::string_view what,
                            std::uint64_t ticks) {
  std::string element = R"({"name": ")";
  element += what;
  absl::StrAppend(&element, R"(", "ph": "B", )", place(operation, ticks), "}");
  write(element);
}

void EventLanes::end_span(const Operation& operation, std::string_view what,
                          std::uint64_t ticks, std::string_view arguments) {
  std::string element = R"({"name": ")";
  element += what;
  absl::StrAppend(&element, R"(", "ph": "E", )", place(operation, ticks));
  if (!arguments.empty()) {
    element += R"(, "args": {)";
    element += arguments;
    element += "}";
  }
  element += "}";
  write(element);
}

void EventLanes::mark(std::string_view what, std::uint64_t ticks,
                      std::string_view arguments) {
  const std::uint64_t ns = options_.nanoseconds(ticks);
  std::string element = R"({"name": ")";
  element += what;
  absl::StrAppendFormat(&element,
                        R"(", "ph": "i", "s": "g", "pid": 0, "ts": %d.%03d)",
                        ns / 1000, ns % 1000);
  if (!arguments.empty()) {
    element += R"(, "args": {)";
    element += arguments;
    element += "}";
  }
  element += "}";
  write(element);
}

}  // namespace hvd::telemetry
