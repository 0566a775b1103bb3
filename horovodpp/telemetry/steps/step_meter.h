// SPDX-License-Identifier: Apache-2.0
// A StepMeter measures a rank's training steps from its events.
//
// A step ends at kStepEnds: when all gradients of a GradientReducer are
// reduced, or where the program says so. Until a job has such an event, a step
// ends where the next begins by the fixed order of its collectives.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "horovodpp/core/trace/event.h"
#include "horovodpp/telemetry/trace/operations.h"

namespace hvd::telemetry {

struct StepTimes {
  std::uint64_t nanoseconds = 0;
  // While a thread of the program waited for a collective,
  std::uint64_t waited = 0;
  // and while a collective was carried out and no thread waited.
  std::uint64_t hidden = 0;
  // Of the time without a wait: in spans "data" and "snapshot".
  std::uint64_t data = 0;
  std::uint64_t snapshot = 0;
  std::uint64_t bytes = 0;
  std::uint32_t batches = 0;
};

class StepMeter {
 public:
  struct Options {
    std::function<std::uint64_t(std::uint64_t ticks)> nanoseconds;
    std::function<std::string(std::uint16_t label)> label;
    std::function<void(const StepTimes&)> step;  // A step has ended.
    std::function<void()> job;                   // A job has begun.
  };
  explicit StepMeter(Options options) : options_(std::move(options)) {}

  // `operations` are as after the event.
  void add(const trace::Event& event, const Operations& operations);
  // Events are missing before the next one: the present step is not measured.
  void skip();

 private:
  void begin_job();
  void advance(std::uint64_t now);
  void end_step();
  void begins_cycle(const trace::Event& event);
  void done_at_once(const trace::Event& event);
  // The number of open spans of a kind that is measured; nullptr for others.
  int* open_spans(std::uint16_t label);
  void begin_span(std::uint16_t label);
  void end_span(std::uint16_t label);

  const Options options_;
  std::uint64_t now_ = 0;
  std::optional<std::uint64_t> began_;  // The present step.
  StepTimes step_;
  bool has_marks_ = false;     // Steps of this job end at kStepEnds.
  bool are_awaited_ = false;   // Of the operations, after the last event.
  bool are_executed_ = false;  // The same.
  int loading_ = 0;            // Open spans "data",
  int saving_ = 0;             // and "snapshot".
};

}  // namespace hvd::telemetry
