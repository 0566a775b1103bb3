// Everything about a job that can be set from outside. Config::from_env() is
// the one place where the library reads the environment; programs may fill a
// Config by hand.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/telemetry/log.h"

namespace hvd {

struct Config {
  // HOROVOD_SIZE: the number of ranks the launcher promised; 0: not told. A job
  // that turns out to have another size does not start.
  int expected_size = 0;

  // Whether a launcher started this process as a rank of an MPI job:
  // HOROVOD_SIZE above 1, or one of OMPI_COMM_WORLD_SIZE, PMIX_RANK, PMI_SIZE.
  // If not, and if the program has not initialized MPI itself, the process is a
  // job of one, without MPI.
  bool launched = false;

  // HOROVOD_START_TIMEOUT (seconds): how long ranks wait for each other at
  // start.
  std::chrono::nanoseconds start_timeout = std::chrono::seconds(30);

  // HOROVOD_FUSION_THRESHOLD (bytes): small tensors are reduced together up to
  // this many bytes; 0: each by itself. Equal on all ranks.
  std::size_t fusion_threshold = 128u << 20;

  // HOROVOD_CYCLE_TIME (milliseconds): the longest a batch below the threshold
  // is held back to wait for company. Equal on all ranks.
  std::chrono::nanoseconds cycle_time{0};

  // HOROVOD_CACHE_CAPACITY: as many tensors are remembered by id; 0: none.
  // Equal on all ranks.
  std::uint32_t cache_capacity = 1024;

  // HOROVOD_THREAD_AFFINITY: comma list of cores, one per local rank, to which
  // the background threads are pinned; empty: not pinned.
  std::vector<int> thread_affinity = {};

  // HOROVOD_LOG_LEVEL (trace, debug, info, warning, error, fatal) and
  // HOROVOD_LOG_HIDE_TIME.
  telemetry::Log::Options log = {};

  // HOROVODPP_RANKS_PER_NODE: splits one machine into nodes of so many ranks
  // each, to exercise the paths between nodes; 0: the real nodes. Equal on all
  // ranks.
  int ranks_per_node = 0;

  // The defaults, overridden by the environment.
  //   InvalidArgument  a variable cannot be read: names it, its text and what
  //   it takes
  static absl::StatusOr<Config> from_env();
};

}  // namespace hvd
