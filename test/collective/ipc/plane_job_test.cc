// SPDX-License-Identifier: Apache-2.0
// Ranks are processes, and open each other's memory and events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "test/collective/conformance.h"
#include "test/collective/gpu_fleet.h"
#include "test/collective/job_fleets.h"

namespace hvd::collective {
namespace {

class IpcOfProcesses {
 public:
  void run(const Body& body) {
    testing::TestGpus::set_delay(20);
    const auto communicator = meet_other_processes();
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    run_on_ipc(**communicator, 1, shared(), body);
  }

  // Lives until the process ends, like a real process's GPUs.
  static SharedGpus& shared() {
    static SharedGpus all;
    return all;
  }
};

INSTANTIATE_TEST_SUITE_P(IpcOfProcesses, PlaneConformance,
                         of_fleet<IpcOfProcesses>());

TEST(IpcPlaneOfProcesses, ReducesByKernels) {
  IpcOfProcesses().run([](Member& member) {
    // One chunk; each rank reduces a slice.
    std::vector<float> x(256, 1);
    const Piece piece = {x.data(), x.data(), 256};
    const std::size_t before = testing::TestGpus::launches();
    ASSERT_EQ(member.plane.allreduce({&piece, 1}, {.op = ReduceOp::kSum},
                                     member.next()),
              absl::OkStatus());
    EXPECT_THAT(x, ::testing::Each(static_cast<float>(member.ranks)));
    testing::TestGpus::expect_launches_since(before, 1);
  });
}

absl::Status add_ones(IpcSeat& seat, IpcPlane& plane, const Call& call) {
  OnGpu on_gpu(plane, seat.context(),
               {.rank = seat.rank(), .ranks = seat.ranks()});
  std::vector<float> x(1000, 1);
  const Piece piece = {x.data(), x.data(), 1000};
  const absl::Status status =
      on_gpu.allreduce({&piece, 1}, {.op = ReduceOp::kSum}, call);
  EXPECT_THAT(x, ::testing::Each(static_cast<float>(seat.ranks())));
  return status;
}

// Ranks destroy their planes of a set at different times, and a new plane may
// start before the last is gone.
TEST(IpcPlaneOfProcesses, FreesNoMemoryThatAnotherRankStillHasOpen) {
  testing::TestGpus::set_delay(20);
  const auto communicator = meet_other_processes();
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  IpcSeat seat(**communicator, IpcOfProcesses::shared());
  NeverInterrupt interrupt;
  std::uint32_t made = 0;
  const auto next = [&] {
    return Call{{.epoch = 1, .sequence = kFirstSequence + ++made}, interrupt};
  };
  const auto meet = [&] { return seat.host().barrier(OnGpu::spaced(next())); };
  const std::size_t before = testing::TestGpus::freed_too_early();
  for (int first = 0; first < seat.ranks(); ++first) {
    auto plane = seat.make_plane();
    ASSERT_EQ(add_ones(seat, *plane, next()), absl::OkStatus());
    if (seat.rank() == first) plane.reset();
    ASSERT_EQ(meet(), absl::OkStatus());
    const auto later = seat.make_plane();
    ASSERT_EQ(add_ones(seat, *later, next()), absl::OkStatus());
    plane.reset();
    ASSERT_EQ(add_ones(seat, *later, next()), absl::OkStatus());
    ASSERT_EQ(meet(), absl::OkStatus());
  }
  EXPECT_EQ(testing::TestGpus::freed_too_early(), before);
}

}  // namespace
}  // namespace hvd::collective
