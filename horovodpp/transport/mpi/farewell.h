// SPDX-License-Identifier: Apache-2.0
// The last meeting of the ranks of an MPI world. MPI_Finalize waits for all
// ranks, and for ever if one of them is gone; so it is asked not to wait, and
// the ranks wait for each other here, where a loss ends it.
#pragma once

#include <mpi.h>

#include <atomic>
#include <vector>

namespace hvd::transport {

// While it lives an MPI that is initialized is one that finalizes alone, where
// it can.
class FinalizesAlone {
 public:
  // Whether it can: Open MPI.
  static bool is_possible();

  FinalizesAlone();
  ~FinalizesAlone();
  FinalizesAlone(const FinalizesAlone&) = delete;
  FinalizesAlone& operator=(const FinalizesAlone&) = delete;
};

struct MpiFarewell {
  MPI_Comm comm = MPI_COMM_NULL;
  int tag = 0;  // Of nothing else in `comm`.
  // Whether MPI_Finalize does not wait for anybody.
  bool finalizes_alone = false;
  // Whom to tell that it came to nothing: ranks that do not see the losses that
  // are seen here.
  std::vector<int> remote = {};
};

// True once all ranks have come and need nothing of each other any more; they
// may finalize. False once `lost` says that one of them is gone, or another rank
// does: then MPI_Finalize is not to be called.
bool meet_for_farewell(const MpiFarewell& farewell,
                       const std::atomic<bool>& lost);

}  // namespace hvd::transport
