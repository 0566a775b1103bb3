// SPDX-License-Identifier: Apache-2.0
// EventLanes turns a rank's events into those of Chrome's trace format, as
// Horovod's timelines have them. Each tensor is a "process", a lane:
//
//   NEGOTIATE_ALLREDUCE        from the submission to its batch
//   ALLREDUCE                  the batch
//     SHM_ALLREDUCE            a call of a plane, here "shm"
//
// Submissions of one label that are in flight together, which have no name, are
// threads of the "process". The spans of the program's threads ("backward") are
// threads of the "process" training. The "process" waits has a span WAIT while a
// thread of the program is blocked for an operation.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "horovodpp/core/trace/event.h"
#include "horovodpp/core/trace/event_ring.h"
#include "horovodpp/telemetry/timeline/tracks.h"
#include "horovodpp/telemetry/trace/operations.h"

namespace hvd::telemetry {

class EventLanes {
 public:
  struct Options {
    bool mark_cycles = false;
    // The name of a number in events.
    std::function<trace::Name(std::uint32_t)> name;
    // The nanoseconds of a number of ticks.
    std::function<std::uint64_t(std::uint64_t)> nanoseconds;
  };
  explicit EventLanes(Options options)
      : options_(std::move(options)), tracks_(options_.nanoseconds) {}

  // `operations` are as after the event.
  void add(const trace::Event& event, const Operations& operations);
  // Events are missing before the next one: ends everything that is open.
  void skip(const Operations& operations);

  // The elements since the last clear(), separated by commas.
  std::string_view text() const { return tracks_.text(); }
  void clear() { tracks_.clear(); }

 private:
  // The names of an operation's spans, as JSON strings. They are made once, so
  // that an event costs little.
  struct Spans {
    std::string kind;         // ALLREDUCE
    std::string whole;        // "ALLREDUCE"
    std::string negotiation;  // "NEGOTIATE_ALLREDUCE"
    absl::node_hash_map<std::uint16_t, std::string> calls = {};  // By plane.
  };
  struct Lane {
    int pid = 0;
    Spans* spans = nullptr;
  };
  struct Shown {
    Track track = {};
    Spans* spans = nullptr;
    bool is_open = false;               // Its negotiation or the whole.
    const std::string* call = nullptr;  // Of an open call.
  };

  const Lane& lane(std::uint32_t name);
  Spans& spans(const trace::Name& name);
  const std::string& call(Spans& spans, std::uint16_t plane);
  // The name of a span of the program's, as a JSON string.
  const std::string& work(std::uint16_t label);
  Shown& shown(const Operation& operation);
  void submitted(const Operation& operation);
  void entry(const Operation& operation, std::uint64_t ticks);
  void call_begins(const Operation& operation, const trace::Event& event);
  void call_ends(Shown& mine, std::uint64_t ticks);
  void batch_ends(const trace::Event& event, const Batch& batch);
  void goes_back(const Operation& operation, std::uint64_t ticks);
  void done_at_once(const trace::Event& event);
  void job_breaks(const trace::Event& event);
  void end(const Operation& operation, std::uint64_t ticks,
           const char* arguments = "");
  void end_all(const Batch& ended, std::uint64_t ticks);

  void show_wait(bool begins, std::uint64_t ticks);
  void show_waits(const Operations& operations, std::uint64_t ticks);
  Track training(std::uint8_t thread);
  void work_begins(const trace::Event& event);
  void work_is_done(const trace::Event& event);
  void end_work(std::uint8_t thread, std::size_t down_to, std::uint64_t ticks);

  const Options options_;
  Tracks tracks_;
  std::uint64_t last_ticks_ = 0;
  absl::node_hash_map<std::string, Spans> spans_;               // By kind.
  absl::flat_hash_map<std::uint32_t, Lane> lanes_;              // By name.
  absl::flat_hash_map<std::uint64_t, Shown> shown_;             // By operation.
  absl::flat_hash_map<std::uint16_t, std::string> work_names_;  // By label.
  bool are_awaited_ = false;
  // The open spans of each thread of the program, the outermost first.
  absl::flat_hash_map<std::uint8_t, std::vector<std::uint16_t>> work_;
};

}  // namespace hvd::telemetry
