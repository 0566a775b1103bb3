// SPDX-License-Identifier: Apache-2.0
// Fleets whose ranks are processes under mpirun. For *_mpi_test.cc.
#pragma once

#include <gtest/gtest.h>

#include "horovodpp/transport/loading/mpi_module.h"
#include "test/collective/fleets.h"

namespace hvd::collective {

// Gives each run its own epochs. Messages of abandoned calls are never
// received, and MPI's tags distinguish no more than eight communicators.
inline Body in_later_epochs(const Body& body) {
  constexpr std::uint32_t kMaxCallsPerRun = 150;
  static std::uint32_t runs = 0;
  return [&body, first = 1 + kMaxCallsPerRun * runs++](Member& member) {
    member.epoch = first;
    body(member);
  };
}

template <int kRanksPerNode>
class RingOfProcesses {
 public:
  void run(const Body& body) {
    const auto communicator =
        transport::make_mpi_communicator({.ranks_per_node = kRanksPerNode});
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    run_on_ring(**communicator, 1, in_later_epochs(body));
  }
};

template <int kRanksPerNode>
class ShmOfProcesses {
 public:
  void run(const Body& body) {
    const auto communicator =
        transport::make_mpi_communicator({.ranks_per_node = kRanksPerNode});
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    run_on_shm(**communicator, 1, in_later_epochs(body));
  }
};

template <Placement::Kind kPlacement, bool kReadOnly, int kRanksPerNode>
class ArenasOfProcesses {
 public:
  void run(const Body& body) {
    const auto communicator =
        transport::make_mpi_communicator({.ranks_per_node = kRanksPerNode});
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    run_on_arenas(**communicator, 1, in_later_epochs(body),
                  {.placement = kPlacement, .read_only = kReadOnly});
  }
};

}  // namespace hvd::collective
