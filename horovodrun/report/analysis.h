// SPDX-License-Identifier: Apache-2.0
// The facts about the time of a job that its timelines tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "horovodrun/report/cost_fit.h"
#include "horovodrun/report/rank_trace.h"

namespace hvd::launcher::report {

// From what exposed communication is known.
enum class Basis {
  kWaits,  // The spans WAIT: the program is blocked.
  kWork,   // Communication outside of spans of training.
  kNone,   // All communication counts.
};

struct RankFacts {
  int rank = 0;
  Intervals work = {};
  Intervals exposed = {};  // Communication for which the program waits.
  Intervals hidden = {};   // Other communication.
  double lateness_us = 0;  // The median over batches,
  double last_share = 0;   // and in how many of them it comes last.
};

struct TensorFacts {
  std::string name = {};
  double waited_us = 0;     // In negotiation, the mean of a call.
  double waited_share = 0;  // Of the negotiation of all tensors.
  double ran_us = 0;        // The mean of a call.
  double bytes = 0;         // Of a call.
  double calls = 0;         // Of a rank.
};

struct PlaneFacts {
  std::string name = {};
  double batches = 0;  // Of a rank.
  double time_us = 0;  // Of a rank, all batches together.
  double bytes = 0;    // Likewise.
  CostFit cost = {};
};

struct WhatIf {
  std::string change = {};
  double step_us = 0;
};

struct Analysis {
  double duration_us = 0;
  Basis basis = Basis::kNone;
  std::string steps_from = {};  // What ends or begins a step; "": unknown.
  std::vector<double> step_begins = {};  // And the end of the last one.
  double step_us = 0;                    // The median,
  double slow_step_us = 0;               // and 95 %.
  double exposed_of_step_us = 0;
  double hidden_of_step_us = 0;
  std::vector<RankFacts> ranks = {};
  double compared_batches = 0;  // That all ranks have.
  int latest = -1;              // The index of the rank that is latest,
  bool is_slow = false;         // and whether it slows the job.
  std::vector<TensorFacts> tensors = {};  // In order of the time waited.
  double batches = 0;                     // Of a rank, with a number.
  double tensors_of_batch = 0;
  double bytes_of_batch = 0;
  double single_share = 0;  // Batches of one tensor.
  std::vector<PlaneFacts> planes = {};
  std::vector<WhatIf> what_if = {};

  int steps() const {
    return step_begins.empty() ? 0 : static_cast<int>(step_begins.size()) - 1;
  }
};

// `ranks`: at least one, on one clock.
Analysis analyze(const std::vector<RankTrace>& ranks);

}  // namespace hvd::launcher::report
