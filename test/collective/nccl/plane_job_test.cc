// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/plane.h"

#include <gtest/gtest.h>

#include "test/collective/conformance.h"
#include "test/collective/job_fleets.h"
#include "test/collective/nccl/fleet.h"

namespace hvd::collective {
namespace {

// Each rank has its own GPU, or all share one if NCCL allows that.
class NcclOfProcesses {
 public:
  void run(const Body& body) {
    const auto communicator = meet_other_processes();
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    if ((*communicator)->size() > testing::TestGpus::count() && !may_share()) {
      GTEST_SKIP() << "by NCCL each rank needs a GPU";
    }
    device::Gpus gpus(testing::TestGpus::cuda_library());
    run_on_nccl(**communicator, 1, gpus, body);
  }

 private:
  static bool may_share() {
    return nccl_of_tests().may_share_gpus &&
           NcclLibrary(nccl_of_tests().library).version() >=
               NcclLibrary::kSharingVersion;
  }
};

INSTANTIATE_TEST_SUITE_P(NcclOfProcesses, PlaneConformance,
                         of_fleet<NcclOfProcesses>());

}  // namespace
}  // namespace hvd::collective
