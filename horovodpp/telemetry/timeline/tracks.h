// SPDX-License-Identifier: Apache-2.0
// Tracks writes the elements of Chrome's trace format: "processes" with names,
// and spans on their threads.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace hvd::telemetry {

// A thread of a "process".
struct Track {
  int pid = 0;
  int thread = 0;
};

class Tracks {
 public:
  // The nanoseconds of a number of ticks.
  using Clock = std::function<std::uint64_t(std::uint64_t)>;
  explicit Tracks(Clock nanoseconds) : nanoseconds_(std::move(nanoseconds)) {}

  // The "process" of that name; equal names have one.
  int process(const std::string& name);
  // Gives thread `thread` of a "process" this name, once.
  void name_thread(const Track& track, std::string_view name);

  // A thread of `pid` that is not in use, for use until release().
  Track take(int pid);
  void release(const Track& track) { thread_of(track).is_used = false; }

  // `name`: a JSON string. `arguments`: JSON members, or "".
  void begin(const Track& track, std::string_view name, std::uint64_t ticks) {
    event(R"(, "ph": "B", "ts": )", track, name, ticks, {});
  }
  void end(const Track& track, std::string_view name, std::uint64_t ticks,
           std::string_view arguments = {}) {
    event(R"(, "ph": "E", "ts": )", track, name, ticks, arguments);
  }
  // A moment of the whole rank.
  void mark(std::string_view name, std::uint64_t ticks,
            std::string_view arguments = {});

  // The elements since the last clear(), separated by commas.
  std::string_view text() const { return text_; }
  void clear() { text_.clear(); }

 private:
  struct Thread {
    bool is_used = false;
    bool is_named = false;
    // The time of its last event. Times of two clocks may differ by some
    // nanoseconds, but spans must not overlap.
    std::uint64_t last = 0;
  };

  Thread& thread_of(const Track& track);
  void event(std::string_view phase, const Track& track, std::string_view name,
             std::uint64_t ticks, std::string_view arguments);
  // Begins an element with its name, a JSON string.
  void element(std::string_view name);
  void finish(std::string_view arguments);

  const Clock nanoseconds_;
  std::string text_;
  absl::flat_hash_map<std::string, int> pids_;  // By name.
  std::vector<std::vector<Thread>> threads_;    // By the "process", less 1.
};

}  // namespace hvd::telemetry
