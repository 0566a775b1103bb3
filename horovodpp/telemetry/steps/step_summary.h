// SPDX-License-Identifier: Apache-2.0
// Compares the reports of all ranks about one interval of steps, and finds the
// rank that the others wait for.
//
// Ranks that compute equally long wait equally long for collectives. A rank
// that comes later waits less, since the others are there. So its lateness in a
// step is the median of the others' waits, less its own wait. No clocks are
// compared. A rank is slow if it was late in most steps of the interval: single
// delays, which every machine has, do not count. If it loads data or writes
// snapshots for so much longer than the others, that is the cause.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "horovodpp/telemetry/steps/step_report.h"

namespace hvd::telemetry {

// A slow rank is late by this part of a step,
inline constexpr double kLatePart = 0.1;
// in this part of an interval's steps, of which there are enough.
inline constexpr double kLateSteps = 0.75;
inline constexpr std::size_t kFewestSteps = 10;
// A pause of one rank is as many steps long, and as many milliseconds.
inline constexpr double kPauseSteps = 10;
inline constexpr double kPauseMs = 250;
// Work that explains this part of a rank's lateness is its cause.
inline constexpr double kCausePart = 0.5;

struct RankReport {
  int rank = 0;
  StepReport report = {};
};

struct StepSummary {
  enum class Cause { kUnknown, kData, kSnapshot };
  struct Late {
    int rank = 0;
    double ms = 0;          // In the median step,
    std::size_t steps = 0;  // of which it was the last rank in so many.
    bool is_slow = false;
    Cause cause = Cause::kUnknown;
    double cause_ms = 0;         // Of a step, in the mean,
    double others_cause_ms = 0;  // and in the median of the others.
  };
  struct Pause {
    int rank = 0;
    std::size_t step = 0;  // Counted from 0 in the interval.
    double ms = 0;
  };

  std::size_t steps = 0;
  // Of a step, in the mean over steps and the median over ranks.
  double took_ms = 0;
  double waited_ms = 0;
  double hidden_ms = 0;
  double data_ms = 0;  // Parts of the work.
  double snapshot_ms = 0;
  double bytes = 0;
  double batches = 0;
  // The rank that comes last; nullopt for one rank, or if no rank is later than
  // the others.
  std::optional<Late> last = {};
  std::vector<Pause> pauses = {};
};

// `reports` has at least one, each of a rank of its own.
StepSummary summarize(std::span<const RankReport> reports);

}  // namespace hvd::telemetry
