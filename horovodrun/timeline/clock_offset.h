// SPDX-License-Identifier: Apache-2.0
// The offset between the clocks of two ranks, from the batches of both.
//
// A collective whose result depends on all ranks ends on no rank before every
// rank has submitted it. So with the times of a batch on a reference and on
// another rank, for the offset that turns the other's times into those of the
// reference:
//
//   submitted(reference) - end(other)  <=  offset
//   end(reference) - submitted(other)  >=  offset
//
// All batches of an interval bound the offset from both sides; the estimate is
// the middle, and half of the width its error. Clocks also drift, so each
// interval has an estimate of its own, and the offset between them is
// interpolated.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "horovodrun/timeline/timeline_elements.h"

namespace hvd::launcher {

// A batch on one rank, in microseconds of its file.
struct BatchTimes {
  double submitted = 0;  // The last of its entries.
  double end = 0;
};
using Batches = absl::flat_hash_map<std::uint64_t, BatchTimes>;  // By number.

// The batches whose results depend on all ranks. Reads all elements.
Batches batches_of(TimelineElements& elements);

// The number to add to the times of a rank's file.
class ClockOffset {
 public:
  enum class Source { kSameClock, kBatches, kWallClock };

  // The same at any time. `error_us`: negative: unknown.
  static ClockOffset constant(double offset_us, Source source, double error_us);
  // From batches that both ranks have; `otherwise`, if they share none.
  static ClockOffset of_batches(const Batches& reference, const Batches& other,
                                const ClockOffset& otherwise);

  double at(double time_us) const;
  double error_us() const { return error_us_; }
  const char* source() const;

 private:
  struct Point {
    double at = 0;
    double offset = 0;
  };

  std::vector<Point> points_;  // At least one, in order of time.
  Source source_ = Source::kSameClock;
  double error_us_ = 0;
};

}  // namespace hvd::launcher
