// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ipc/plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "horovodpp/device/kernels/images.h"
#include "test/collective/conformance.h"
#include "test/collective/gpu_fleet.h"
#include "test/support/fake_cuda/fake_cuda.h"
#include "test/support/test_gpus.h"

namespace hvd::collective {
namespace {

using ::testing::Each;

INSTANTIATE_TEST_SUITE_P(IpcOfThreads, PlaneConformance,
                         of_fleet<IpcOfThreads>());
// The process sets of a rank share its window.
INSTANTIATE_TEST_SUITE_P(IpcOfThreads, SetConformance,
                         of_fleet<IpcOfThreads>());

// Adds ones on four ranks and two GPUs, three times; returns the number of
// kernel launches.
std::size_t add_on_four_ranks() {
  testing::FakeCuda::set_delay(20);
  SharedGpus shared;
  const std::size_t before = testing::FakeCuda::launches();
  on_loopback(4, [&](transport::Communicator& communicator) {
    run_on_ipc(communicator, 4, shared, [](Member& member) {
      for (int i = 0; i < 3; ++i) {
        std::vector<float> x(1000, 1.0f);
        const Piece piece = {x.data(), x.data(), 1000};
        ASSERT_EQ(member.plane.allreduce({&piece, 1}, {.op = ReduceOp::kSum},
                                         member.next()),
                  absl::OkStatus());
        ASSERT_THAT(x, Each(4.0f));
      }
    });
  });
  return testing::FakeCuda::launches() - before;
}

// Each rank reduces a slice of each of two chunks.
TEST(IpcPlane, ReducesByKernels) {
  EXPECT_EQ(add_on_four_ranks(), 3u * 2u * 4u);
}

TEST(IpcPlane, StagesIfOneRankHasNoWindow) {
  for (const char* const call :
       {"cuModuleLoadData", "cuIpcGetMemHandle", "cuMemPoolCreate"}) {
    testing::FakeCuda::fail_next(call, 2);
    // Kernels compiled into the library can replace a module that fails to
    // load. The memory pool is optional.
    const std::size_t launches = add_on_four_ranks();
    EXPECT_EQ(launches == 0,
              std::string(call) == "cuIpcGetMemHandle" ||
                  (std::string(call) == "cuModuleLoadData" &&
                   device::kernels::compiled_image() == nullptr));
    testing::FakeCuda::fail_next(call, 0);
  }
}

TEST(IpcPlane, StagesIfGpusCannotReachEachOther) {
  setenv("FAKE_CUDA_NO_PEERS", "1", 1);
  EXPECT_EQ(add_on_four_ranks(), 0u);
  unsetenv("FAKE_CUDA_NO_PEERS");
}

void run_on_two_ranks(SharedGpus& shared, const Body& body) {
  testing::FakeCuda::set_delay(20);
  on_loopback(2, [&](transport::Communicator& communicator) {
    run_on_ipc(communicator, 2, shared, body);
  });
}

TEST(IpcPlane, ReportsAnErrorOfTheGpu) {
  SharedGpus shared;
  run_on_two_ranks(shared, [](Member& member) {
    std::vector<float> x(10, 1.0f);
    const Piece piece = {x.data(), x.data(), 10};
    const auto add = [&] {
      return member.plane.allreduce({&piece, 1}, {.op = ReduceOp::kSum},
                                    member.next());
    };
    ASSERT_EQ(add(), absl::OkStatus());
    ASSERT_EQ(member.plane.barrier(member.next()), absl::OkStatus());
    if (member.rank == 0) testing::FakeCuda::fail_next("cuLaunchKernel", 700);
    ASSERT_EQ(member.plane.barrier(member.next()), absl::OkStatus());
    const absl::Status first = add();
    // Only the rank that launched the kernel sees the error.
    if (first.ok()) return;
    EXPECT_EQ(first.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(first.message()),
                ::testing::HasSubstr("ILLEGAL_ADDRESS"));
    EXPECT_EQ(add(), first);
  });
}

class ThrowingInterrupt : public transport::Interrupt {
 public:
  absl::Status check() override { throw std::bad_alloc(); }
};

// The other rank never enters the call.
TEST(IpcPlane, IsNotUsedAgainAfterAnException) {
  SharedGpus shared;
  run_on_two_ranks(shared, [](Member& member) {
    std::vector<float> x(10, 1.0f);
    const Piece piece = {x.data(), x.data(), 10};
    ASSERT_EQ(member.plane.allreduce({&piece, 1}, {.op = ReduceOp::kSum},
                                     member.next()),
              absl::OkStatus());
    if (member.rank == 1) return;
    ThrowingInterrupt interrupt;
    const Call call = {member.next().tag, interrupt};
    EXPECT_THROW(
        member.plane.allreduce({&piece, 1}, {.op = ReduceOp::kSum}, call)
            .IgnoreError(),
        std::bad_alloc);
    EXPECT_EQ(member.plane.barrier(member.next()).message(),
              "an exception ended a call on this rank");
  });
  // Rank 1's window may be reused; rank 0's may still be in use.
  ASSERT_TRUE(testing::TestGpus::settle(*shared.gpus.driver().value()));
  const std::size_t before = testing::FakeCuda::objects();
  const auto take = [&] {
    return shared.windows.take(shared.gpus, 0, IpcSeat::kHalfBytes).value();
  };
  const auto spare = take();
  EXPECT_EQ(testing::FakeCuda::objects(), before);
  const auto made = take();
  EXPECT_GT(testing::FakeCuda::objects(), before);
}

}  // namespace
}  // namespace hvd::collective
