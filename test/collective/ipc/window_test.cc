// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ipc/window.h"

#include <gtest/gtest.h>

#include "test/collective/gpu_fleet.h"

namespace hvd::collective {
namespace {

TEST(IpcRankWindows, SharesOneWindowPerGpu) {
  SharedGpus shared;
  IpcRankWindows mine(shared.windows);
  auto first = mine.on(shared.gpus, 0, 1024).value();
  const auto second = mine.on(shared.gpus, 0, 1024).value();
  EXPECT_EQ(first, second);
  EXPECT_NE(mine.on(shared.gpus, 1, 1024).value(), first);
  IpcRankWindows another_ranks(shared.windows);
  EXPECT_NE(another_ranks.on(shared.gpus, 0, 1024).value(), first);
}

TEST(IpcRankWindows, KeepsMemoryForTheNextJob) {
  SharedGpus shared;
  const IpcWindow* const kept =
      IpcRankWindows(shared.windows).on(shared.gpus, 0, 1024).value().get();
  IpcRankWindows of_next_job(shared.windows);
  EXPECT_EQ(of_next_job.on(shared.gpus, 0, 1024).value().get(), kept);
}

TEST(IpcRankWindows, ReportsAnAllocationErrorAndRecovers) {
  SharedGpus shared;
  IpcRankWindows mine(shared.windows);
  testing::FakeCuda::fail_next("cuIpcGetMemHandle", 2);
  EXPECT_FALSE(mine.on(shared.gpus, 0, 1024).ok());
  testing::FakeCuda::fail_next("cuIpcGetMemHandle", 0);
  EXPECT_TRUE(mine.on(shared.gpus, 0, 1024).ok());
}

}  // namespace
}  // namespace hvd::collective
