// SPDX-License-Identifier: Apache-2.0
// The Contenders of a workload carry it out in different ways, so that they can
// be measured side by side:
//
//   foreign         the runtime: submitted by name, averaged in place
//   arena           the same, in memory that the ranks share
//   as float32      the runtime on float32 of the same bytes, where the
//                   workload is of another type; foreign memory
//   MPI             MPI_Allreduce, a sum of float32, in place; all bytes at once
//   MPI by tensor   the same, a call for each tensor, where there are several
//   memcpy          every rank copies as many bytes, all at the same time
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "test/benchmark/workload.h"

namespace hvd::benchmark {

inline constexpr char kForeignMemory[] = "foreign";
inline constexpr char kArenaMemory[] = "arena";
inline constexpr char kAsFloat32[] = "as float32";
inline constexpr char kMpi[] = "MPI";
inline constexpr char kMpiByTensor[] = "MPI by tensor";
inline constexpr char kMemcpy[] = "memcpy";

class Contender {
 public:
  virtual ~Contender() = default;
  virtual std::string name() const = 0;
  // Writes this rank's input: its number plus one, everywhere.
  virtual void refill() = 0;
  virtual absl::Status call() = 0;
  // Whether what call() left is right, as far as a few elements tell.
  virtual bool is_right() const = 0;
};

// Collective. The same contenders on all ranks: without the arena where some
// rank has none.
//   ResourceExhausted  there is not as much memory
absl::StatusOr<std::vector<std::unique_ptr<Contender>>> contenders(
    const Workload& workload, MPI_Comm comm);

}  // namespace hvd::benchmark
