// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/timeline/tracks.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/telemetry/timeline/json_array_file.h"

namespace hvd::telemetry {
int Tracks::process(const std::string& name) {
  const int next = static_cast<int>(pids_.size()) + 1;
  const auto [pid, is_new] = pids_.try_emplace(name, next);
  if (is_new) {
    threads_.emplace_back();
    element(R"("process_name")");
    absl::StrAppend(&text_, R"(, "ph": "M", "pid": )", next);
    finish(absl::StrCat(R"("name": )", json_string(name)));
    element(R"("process_sort_index")");
    absl::StrAppend(&text_, R"(, "ph": "M", "pid": )", next);
    finish(absl::StrCat(R"("sort_index": )", next));
  }
  return pid->second;
}

void Tracks::name_thread(const Track& track, std::string_view name) {
  Thread& thread = thread_of(track);
  if (std::exchange(thread.is_named, true)) return;
  element(R"("thread_name")");
  absl::StrAppend(&text_, R"(, "ph": "M", "pid": )", track.pid, R"(, "tid": )",
                  track.thread);
  finish(absl::StrCat(R"("name": )", json_string(name)));
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

// Times are microseconds, as the format demands.
void Tracks::event(std::string_view phase, const Track& track,
                   std::string_view name, std::uint64_t ticks,
                   std::string_view arguments) {
  std::uint64_t& last = thread_of(track).last;
  last = std::max(last, nanoseconds_(ticks));
  element(name);
  text_ += phase;
  absl::StrAppend(&text_, last / 1000, ".",
                  absl::Dec(last % 1000, absl::kZeroPad3), R"(, "pid": )",
                  track.pid);
  if (track.thread > 0) absl::StrAppend(&text_, R"(, "tid": )", track.thread);
  finish(arguments);
}

void Tracks::mark(std::string_view name, std::uint64_t ticks,
                  std::string_view arguments) {
  const std::uint64_t at = nanoseconds_(ticks);
  element(name);
  absl::StrAppend(&text_, R"(, "ph": "i", "s": "g", "pid": 0, "ts": )",
                  at / 1000, ".", absl::Dec(at % 1000, absl::kZeroPad3));
  finish(arguments);
}

void Tracks::element(std::string_view name) {
  if (!text_.empty()) text_ += ",\n";
  text_ += R"({"name": )";
  text_ += name;
}

void Tracks::finish(std::string_view arguments) {
  if (!arguments.empty()) {
    text_ += R"(, "args": {)";
    text_ += arguments;
    text_ += '}';
  }
  text_ += '}';
}

}  // namespace hvd::telemetry
