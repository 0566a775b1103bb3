// SPDX-License-Identifier: Apache-2.0
// Measures contenders side by side: they take turns, so that what disturbs the
// machine for a while disturbs all of them. Before each measurement every rank
// writes its own input, with its own core, as a training step does; then comes a
// barrier, and the time of a call is that of the slowest rank from there.
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
  // Processor time of a call, of all threads of a rank; the ranks' mean, and of
  // that the median.
  double cpu_us = 0;
};

// Collective; the result is rank 0's.
//   Internal  a result was wrong
//   (others)  a call failed
absl::StatusOr<std::vector<Measured>> measure(
    const Workload& workload,
    const std::vector<std::unique_ptr<Contender>>& contenders, MPI_Comm comm);

}  // namespace hvd::benchmark
