// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/timeline/tracks.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "horovodpp/telemetry/timeline/json_array_file.h"

namespace hvd::telemetry {
namespace {

void add_arguments(std::string& element, std::string_view arguments) {
  if (arguments.empty()) return;
  element += R"(, "args": {)";
  element += arguments;
  element += "}";
}

// Microseconds, as the format demands.
std::string microseconds(std::uint64_t ns) {
  return absl::StrFormat("%d.%03d", ns / 1000, ns % 1000);
}

}  // namespace

int Tracks::process(const std::string& name) {
  const int next = static_cast<int>(pids_.size()) + 1;
  const auto [pid, is_new] = pids_.try_emplace(name, next);
  if (is_new) {
    threads_.emplace_back();
    write(absl::StrCat(R"({"name": "process_name", "ph": "M", "pid": )", next,
                       R"(, "args": {"name": )", json_string(name), "}}"));
    write(absl::StrCat(R"({"name": "process_sort_index", "ph": "M", "pid": )",
                       next, R"(, "args": {"sort_index": )", next, "}}"));
  }
  return pid->second;
}

void Tracks::name_thread(const Track& track, std::string_view name) {
  Thread& thread = thread_of(track);
  if (std::exchange(thread.is_named, true)) return;
  write(absl::StrCat(R"({"name": "thread_name", "ph": "M", "pid": )", track.pid,
                     R"(, "tid": )", track.thread, R"(, "args": {"name": )",
                     json_string(name), "}}"));
}

Tracks::Thread& Tracks::thread_of(const Track& track) {
  auto& threads = threads_[static_cast<std::size_t>(track.pid - 1)];
  const auto number = static_cast<std::size_t>(track.thread);
  if (number >= threads.size()) threads.resize(number + 1);
  return threads[number];
}

Track Tracks::take(int pid) {
  const auto& threads = threads_[static_cast<std::size_t>(pid - 1)];
  std::size_t free = 0;
  while (free < threads.size() && threads[free].is_used) ++free;
  const Track track = {.pid = pid, .thread = static_cast<int>(free)};
  thread_of(track).is_used = true;
  return track;
}

void Tracks::begin(const Track& track, std::string_view what,
                   std::uint64_t ticks) {
  write(absl::StrCat(R"({"name": )", json_string(what), R"(, "ph": "B", )",
                     place(track, ticks), "}"));
}

void Tracks::end(const Track& track, std::string_view what, std::uint64_t ticks,
                 std::string_view arguments) {
  std::string element = absl::StrCat(R"({"name": )", json_string(what),
                                     R"(, "ph": "E", )", place(track, ticks));
  add_arguments(element, arguments);
  element += "}";
  write(element);
}

void Tracks::mark(std::string_view what, std::uint64_t ticks,
                  std::string_view arguments) {
  std::string element =
      absl::StrCat(R"({"name": )", json_string(what),
                   R"(, "ph": "i", "s": "g", "pid": 0, "ts": )",
                   microseconds(nanoseconds_(ticks)));
  add_arguments(element, arguments);
  element += "}";
  write(element);
}

std::string Tracks::take_text() { return std::exchange(text_, {}); }

void Tracks::write(std::string_view element) {
  if (!text_.empty()) text_ += ",\n";
  text_ += element;
}

std::string Tracks::place(const Track& track, std::uint64_t ticks) {
  std::uint64_t& last = thread_of(track).last;
  last = std::max(last, nanoseconds_(ticks));
  std::string text =
      absl::StrCat(R"("ts": )", microseconds(last), R"(, "pid": )", track.pid);
  if (track.thread > 0) absl::StrAppend(&text, R"(, "tid": )", track.thread);
  return text;
}

}  // namespace hvd::telemetry
