// SPDX-License-Identifier: Apache-2.0
// Replays the batches of a rank with other costs, and says how much shorter its
// program waits for them.
//
// A batch begins when all ranks have submitted its operations and the batch
// before it has ended. A shorter batch lets the next one begin earlier, and the
// program go on earlier if it waits. Work takes as long as it took: hidden
// communication gains nothing.
#pragma once

#include <vector>

#include "horovodrun/report/intervals.h"

namespace hvd::launcher::report {

struct ReplayedBatch {
  double ready = 0;  // When the last rank submitted its last operation.
  double begin = 0;
  double end = 0;
  // The time that it would take, as a share of the time that it took.
  double scale = 1;
};

// The time that the program has saved when a wait has ended.
struct Saving {
  double at = 0;
  double us = 0;  // Since the begin.
};

// `batches`: in order of their begin; `exposed`: when the program waits.
std::vector<Saving> replay(const std::vector<ReplayedBatch>& batches,
                           const Intervals& exposed);

// The saving until a time.
double saved_until(const std::vector<Saving>& savings, double time);

}  // namespace hvd::launcher::report
