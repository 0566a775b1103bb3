// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/plane.h"

#include <gtest/gtest.h>

#include "test/collective/conformance_suite.h"
#include "test/collective/mpi_fleets.h"
#include "test/collective/nccl/fleet.h"

namespace hvd::collective {
namespace {

// The stand-ins' GPUs are the same for all processes.
class NcclOfProcesses {
 public:
  void run(const Body& body) {
    const auto communicator = transport::make_mpi_communicator({});
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    device::Gpus gpus(testing::FakeCuda::file());
    run_on_nccl(**communicator, 1, gpus, in_later_epochs(body));
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(NcclOfProcesses, PlaneConformance,
                               NcclOfProcesses);

}  // namespace
}  // namespace hvd::collective
