// SPDX-License-Identifier: Apache-2.0
// Ranks are processes, and tensors are staged through host memory.
#include "horovodpp/collective/staged_plane.h"

#include <gtest/gtest.h>

#include "test/collective/conformance.h"
#include "test/collective/gpu_fleet.h"
#include "test/collective/job_fleets.h"

namespace hvd::collective {
namespace {

class StagedOfProcesses {
 public:
  void run(const Body& body) {
    testing::TestGpus::set_delay(20);
    const auto communicator = meet_other_processes();
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    device::Gpus gpus(testing::TestGpus::cuda_library());
    run_staged(**communicator, 1, gpus, body);
  }
};

INSTANTIATE_TEST_SUITE_P(StagedOfProcesses, PlaneConformance,
                         of_fleet<StagedOfProcesses>());

}  // namespace
}  // namespace hvd::collective
