// SPDX-License-Identifier: Apache-2.0
// The main of test programs that run under mpirun. Rank 0 reports, the other
// ranks report only failures, and one rank's failure is every rank's exit code.
//
// With an odd number of ranks, the program initializes and finalizes MPI, like
// a host program. With an even number, the library does.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>

#include "test/support/rank_printer.h"

namespace {

// The launcher's variable before MPI runs: Open MPI's, then MPICH's.
int told(const char* open_mpi, const char* mpich, int otherwise) {
  const char* text = std::getenv(open_mpi);
  if (text == nullptr) text = std::getenv(mpich);
  return text == nullptr ? otherwise : std::atoi(text);
}

bool is_initialized() {
  int flag = 0;
  MPI_Initialized(&flag);
  return flag != 0;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const int size = told("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", 1);
  const int rank = told("OMPI_COMM_WORLD_RANK", "PMI_RANK", 0);
  bool ours = size % 2 == 1;
  int level = MPI_THREAD_SINGLE;
  if (ours) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  hvd::testing::let_rank_0_report(rank);
  int failed = RUN_ALL_TESTS();
  if (!is_initialized()) {
    ours = true;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  }
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (ours) MPI_Finalize();
  return failed;
}
