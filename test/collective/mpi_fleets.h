// Fleets whose ranks are processes under mpirun. For *_mpi_test.cc.
#pragma once

#include <gtest/gtest.h>

#include "horovodpp/transport/mpi_communicator.h"
#include "test/collective/fleets.h"

namespace hvd::collective {

template <int kRanksPerNode>
class RingOfProcesses {
 public:
  void run(const Body& body) {
    const auto communicator =
        transport::make_mpi_communicator({.ranks_per_node = kRanksPerNode});
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    run_on_ring(**communicator, 1, body);
  }
};

template <int kRanksPerNode>
class ShmOfProcesses {
 public:
  void run(const Body& body) {
    const auto communicator =
        transport::make_mpi_communicator({.ranks_per_node = kRanksPerNode});
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    run_on_shm(**communicator, 1, body);
  }
};

}  // namespace hvd::collective
