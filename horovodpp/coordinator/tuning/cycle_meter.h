// SPDX-License-Identifier: Apache-2.0
// A CycleMeter measures some steps of a cycle on one rank: when each tensor was
// submitted, and when each batch ended, after the end of the step before. All
// ranks end a step at the same time, that of its last collective. So times of
// different hosts can be compared without comparing clocks.
//
// Ranks measure the same steps, because they count the steps of the cycle. In
// between the meter only counts batches.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/protocol/batch.h"
#include "horovodpp/coordinator/protocol/message.h"
#include "horovodpp/coordinator/protocol/request.h"

namespace hvd::coordinator {

// Of the times in a Measured.
inline constexpr double kSecondsPerUnit = 1e-7;

// Whether the tuner may change the batches of a cycle of these operations: only
// allreduces of host memory, each once in a step.
bool is_tunable(const std::vector<const Request*>& requests);

class CycleMeter {
 public:
  struct Options {
    int steps = 0;  // Of a measurement; 0: never measures.
    // Of the clock of executed().
    std::function<double()> seconds_per_tick = {};
  };
  explicit CycleMeter(Options options) : options_(std::move(options)) {}

  // A new cycle with `hash` and `batches`; unless `measure`, it is not measured.
  void begin_cycle(std::uint64_t hash, const std::vector<std::size_t>& batches,
                   bool measure);
  // The cycle goes on after an interruption, or a batch was abandoned: the
  // present step does not count.
  void interrupt() { origin_.reset(); }

  bool is_on() const { return is_on_; }
  // The rank has executed `batch` of the cycle from `began` to `ended`, in
  // ticks. Its submissions are still in flight. Returns a measurement that is
  // complete.
  std::optional<Measured> executed(const Batch& batch, std::uint64_t began,
                                   std::uint64_t ended);

 private:
  std::optional<Measured> end_step(std::uint64_t now);
  Measured summary();

  const Options options_;
  bool is_on_ = false;
  std::uint64_t hash_ = 0;
  std::uint32_t number_ = 0;        // Of measurements.
  std::vector<std::size_t> first_;  // The first operation of each batch.
  std::size_t operations_ = 0;
  std::size_t values_ = 0;     // Of a step: operations and batches.
  std::uint64_t to_skip_ = 0;  // Steps before the next that is measured.
  std::uint64_t pause_ = 0;    // Steps before the next measurement.
  // The end of the last step. Unknown: the present one is not measured.
  std::optional<std::uint64_t> origin_;
  std::vector<std::uint64_t> rows_;     // Of the measured steps, in ticks.
  std::vector<std::uint64_t> origins_;  // And their origins and ends.
  std::vector<std::uint64_t> ends_;
};

}  // namespace hvd::coordinator
