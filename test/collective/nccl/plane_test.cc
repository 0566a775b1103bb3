// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "horovodpp/device/kernels/images.h"
#include "test/collective/conformance.h"
#include "test/collective/nccl/fleet.h"

namespace hvd::collective {
namespace {

using ::testing::Each;

INSTANTIATE_TEST_SUITE_P(NcclOfThreads, PlaneConformance,
                         of_fleet<NcclOfThreads>());

constexpr int kRanks = 2;

// Adds ones of two ranks in `count` tensors of different lengths, halved.
// Returns the number of kernel launches.
std::size_t add_ones(std::size_t count) {
  testing::FakeCuda::set_delay(20);
  device::Gpus gpus(testing::FakeCuda::file());
  const std::size_t before = testing::FakeCuda::launches();
  on_loopback(kRanks, [&](transport::Communicator& communicator) {
    run_on_nccl(communicator, kRanks, gpus, [&](Member& member) {
      std::vector<std::vector<float>> tensors;
      std::vector<Piece> pieces;
      for (std::size_t i = 0; i < count; ++i) {
        tensors.emplace_back(i % 7 * 100, 1.0f);
      }
      for (auto& x : tensors) {
        pieces.push_back(
            {x.data(), x.data(), static_cast<std::int64_t>(x.size())});
      }
      ASSERT_EQ(
          member.plane.allreduce(
              pieces, {.op = ReduceOp::kSum, .postscale = 0.5}, member.next()),
          absl::OkStatus());
      for (const auto& x : tensors) EXPECT_THAT(x, Each(0.5f * kRanks));
    });
  });
  return testing::FakeCuda::launches() - before;
}

// One kernel before NCCL's call and one after.
TEST(NcclPlane, PutsManySmallTensorsTogether) {
  EXPECT_EQ(add_ones(100), 2u * kRanks);
  EXPECT_EQ(add_ones(NcclPacking::kMinPieces - 1), 0u);
}

TEST(NcclPlane, UsesKernelsOnAllRanksOrOnNone) {
  testing::FakeCuda::fail_next("cuModuleLoadData", 2);
  const bool has_another = device::kernels::compiled_image() != nullptr;
  EXPECT_EQ(add_ones(100), has_another ? 2u * kRanks : 0u);
  testing::FakeCuda::fail_next("cuModuleLoadData", 0);
}

}  // namespace
}  // namespace hvd::collective
