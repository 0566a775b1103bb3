// SPDX-License-Identifier: Apache-2.0
// A barrier of all ranks of an MPI world before MPI_Finalize, which would wait
// forever for a dead rank. MPI is asked not to wait; the ranks wait for each
// other here instead, where a loss ends the wait.
#pragma once

#include <mpi.h>

#include <atomic>
#include <vector>

namespace hvd::transport {

// While an object lives, an MPI that is initialized will finalize without
// waiting, if it can.
class FinalizeWithoutWaiting {
 public:
  // Whether MPI supports that: Open MPI does.
  static bool is_possible();

  FinalizeWithoutWaiting();
  ~FinalizeWithoutWaiting();
  FinalizeWithoutWaiting(const FinalizeWithoutWaiting&) = delete;
  FinalizeWithoutWaiting& operator=(const FinalizeWithoutWaiting&) = delete;
};

struct FinalizeBarrier {
  MPI_Comm comm = MPI_COMM_NULL;
  int tag = 0;  // Used for nothing else in `comm`.
  // Whether MPI_Finalize waits for no rank.
  bool finalize_does_not_wait = false;
  // Ranks to notify if the barrier fails, because they cannot detect the losses
  // that this rank detects.
  std::vector<int> remote = {};
};

// Returns true once all ranks have come and need nothing more of each other;
// they may finalize. Returns false once `lost`, or another rank, reports a
// loss: then MPI_Finalize must not be called.
bool wait_at_finalize_barrier(const FinalizeBarrier& barrier,
                              const std::atomic<bool>& lost);

// Cleans up after an MPI that is not finalized: unlinks MPICH's files of shared
// memory that this process has mapped. Ranks that have the memory mapped keep
// it; MPICH unlinks the files itself when finalized. Open MPI leaves no files
// that mpirun does not remove.
void remove_names_of_shared_memory();

}  // namespace hvd::transport
