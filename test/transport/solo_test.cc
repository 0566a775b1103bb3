// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "horovodpp/transport/mpi_communicator.h"

namespace hvd::transport {
namespace {

TEST(SoloCommunicator, IsAJobOfOne) {
  const auto solo = make_solo_communicator();
  EXPECT_EQ(solo->rank(), 0);
  EXPECT_EQ(solo->size(), 1);
}

TEST(MpiCommunicator, TellsAWayOutWhereThereIsNone) {
  if (mpi_is_built()) {
    EXPECT_FALSE(mpi_is_running());
    return;
  }
  EXPECT_FALSE(mpi_is_running());
  const auto communicator = make_mpi_communicator({.expected_size = 2});
  EXPECT_TRUE(absl::IsFailedPrecondition(communicator.status()));
  EXPECT_NE(communicator.status().message().find("HVD_WITH_MPI"),
            std::string::npos);
}

}  // namespace
}  // namespace hvd::transport
