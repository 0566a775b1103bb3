// SPDX-License-Identifier: Apache-2.0
// The Contenders of a workload execute it in different ways, so that they can
// be compared:
//
//   foreign         the runtime: submitted by name, averaged in place
//   arena           the same, in memory that the ranks share
//   as float32      the runtime on float32 of the same bytes, if the workload
//                   has another type; foreign memory
//   MPI             MPI_Allreduce, a sum of float32, in place; all bytes at once
//   MPI by tensor   the same, a call for each tensor, if there are several
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
  // Fills the input with this rank's number plus one.
  virtual void refill() = 0;
  virtual absl::Status call() = 0;
  // Whether a few elements of the result are right.
  virtual bool is_right() const = 0;
};

// Collective. Returns the same contenders on all ranks: without "arena" if some
// rank has no arena.
//   ResourceExhausted  out of memory
absl::StatusOr<std::vector<std::unique_ptr<Contender>>> contenders(
    const Workload& workload, MPI_Comm comm);

}  // namespace hvd::benchmark
