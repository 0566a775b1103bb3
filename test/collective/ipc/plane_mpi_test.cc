// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes: they open each other's memory and events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "horovodpp/transport/mpi_module.h"
#include "test/collective/conformance_suite.h"
#include "test/collective/gpu_fleet.h"
#include "test/collective/mpi_fleets.h"

namespace hvd::collective {
namespace {

class IpcOfProcesses {
 public:
  void run(const Body& body) {
    testing::FakeCuda::set_delay(20);
    device::Gpus gpus(testing::FakeCuda::file());
    const auto communicator = transport::make_mpi_communicator({});
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    run_on_ipc(**communicator, 1, gpus, in_later_epochs(body));
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(IpcOfProcesses, PlaneConformance,
                               IpcOfProcesses);

TEST(IpcPlaneOfProcesses, ReducesByKernels) {
  IpcOfProcesses().run([](Member& member) {
    // One chunk, of which each rank has a slice.
    std::vector<float> x(256, 1);
    const Piece piece = {x.data(), x.data(), 256};
    const std::size_t before = testing::FakeCuda::launches();
    ASSERT_EQ(member.plane.allreduce({&piece, 1}, {.op = ReduceOp::kSum},
                                     member.next()),
              absl::OkStatus());
    EXPECT_THAT(x, ::testing::Each(static_cast<float>(member.ranks)));
    EXPECT_EQ(testing::FakeCuda::launches() - before,
              member.ranks > 1 ? 1u : 0u);
  });
}

}  // namespace
}  // namespace hvd::collective
