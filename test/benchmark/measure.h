// SPDX-License-Identifier: Apache-2.0
// Measures contenders side by side. They take turns, so that a temporary
// disturbance affects all of them. Before each measurement every rank writes
// its own input on its own core, as a training step does. The time of a call
// runs from a barrier to the end of the slowest rank.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "test/benchmark/contender.h"
#include "test/benchmark/quartiles.h"
#include "test/benchmark/workload.h"

namespace hvd::benchmark {

struct Measured {
  std::string contender = {};
  Quartiles us = {};  // Of a call.
  // Processor time of a call over all threads of a rank: the median of the
  // ranks' means.
  double cpu_us = 0;
};

// Collective; rank 0 gets the result.
//   Internal  a result was wrong
//   (others)  a call failed
absl::StatusOr<std::vector<Measured>> measure(
    const Workload& workload,
    const std::vector<std::unique_ptr<Contender>>& contenders, MPI_Comm comm);

}  // namespace hvd::benchmark
