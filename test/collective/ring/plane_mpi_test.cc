// SPDX-License-Identifier: Apache-2.0
#include "test/collective/conformance.h"
#include "test/collective/doomed_call.h"
#include "test/collective/mpi_fleets.h"

namespace hvd::collective {
namespace {

INSTANTIATE_TEST_SUITE_P(RingOfProcesses, PlaneConformance,
                         of_fleet<RingOfProcesses<0>>());
INSTANTIATE_TEST_SUITE_P(RingOfProcesses, SetConformance,
                         of_fleet<RingOfProcesses<0>>());
INSTANTIATE_TEST_SUITE_P(RingOfNodes, PlaneConformance,
                         of_fleet<RingOfProcesses<1>>());
INSTANTIATE_TEST_SUITE_P(RingOfNodes, SetConformance,
                         of_fleet<RingOfProcesses<1>>());

// Chunks so large that MPI does not buffer them: after a call is abandoned, MPI
// keeps their memory for good.
TEST(RingPlaneOverMpi, UsesOtherMemoryAfterAnAbandonedLargeCall) {
  const auto communicator = transport::make_mpi_communicator({});
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  const int ranks = (*communicator)->size();
  if (ranks == 1) return;  // No other rank can stay away.
  RingPlane plane(**communicator, test_waiting(ranks));
  NeverInterrupt patient;
  Member member = {plane, (*communicator)->rank(), ranks, 1, patient, {}};
  // Above the epochs of the other tests in this program.
  for (member.epoch = 14'000; member.epoch < 14'012; ++member.epoch) {
    const int absent = static_cast<int>(member.epoch) % ranks;
    const DoomedCall doomed = {DoomedCall::kAllreduce, 1'000'000, true, false};
    ASSERT_TRUE(member.rank == absent ||
                is_given_up_without_trace(member, doomed, 50));
    ++member.epoch;
    member.sequence = 0;
    ASSERT_TRUE(
        allreduce_conforms(member, {{.dtype = DType::kI32}, {300'000}}));
  }
}

}  // namespace
}  // namespace hvd::collective
