// SPDX-License-Identifier: Apache-2.0
#include "test/collective/conformance_suite.h"
#include "test/collective/mpi_fleets.h"
#include "test/collective/set_suite.h"

namespace hvd::collective {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(RingOfProcesses, PlaneConformance,
                               RingOfProcesses<0>);
INSTANTIATE_TYPED_TEST_SUITE_P(RingOfProcesses, SetConformance,
                               RingOfProcesses<0>);
INSTANTIATE_TYPED_TEST_SUITE_P(RingOfNodes, PlaneConformance,
                               RingOfProcesses<1>);
INSTANTIATE_TYPED_TEST_SUITE_P(RingOfNodes, SetConformance, RingOfProcesses<1>);

// Chunks that MPI does not take over at once: their memory is MPI's for good
// once their call is given up.
TEST(RingPlaneOverMpi, GoesOnWithOtherMemoryAfterALargeCallWasGivenUp) {
  const auto communicator = transport::make_mpi_communicator({});
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  const int ranks = (*communicator)->size();
  if (ranks == 1) return;  // Nobody else can stay away.
  RingPlane plane(**communicator, test_waiting(ranks));
  NeverInterrupt patient;
  Member member = {plane, (*communicator)->rank(), ranks, 1, patient, {}};
  // Beyond what other tests of this program get to.
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
