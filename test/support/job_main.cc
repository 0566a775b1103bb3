// SPDX-License-Identifier: Apache-2.0
// The main of test programs that run under horovodrun without MPI.
#include <gtest/gtest.h>

#include <cstdlib>

#include "test/support/rank_printer.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const char* const rank = std::getenv("HOROVOD_RANK");
  hvd::testing::let_rank_0_report(rank == nullptr ? 0 : std::atoi(rank));
  return RUN_ALL_TESTS();
}
