// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/ranks_of_host.h"

#include <gtest/gtest.h>

#include "horovodrun/command_line/check_build.h"

namespace hvd::launcher {
namespace {

TEST(RanksOfHost, FollowTheProcessors) {
  const Processors with_gpus = {.cores = 8, .gpus = 2};
  const Processors without = {.cores = 8, .gpus = 0};
  EXPECT_EQ(*ranks_of_host("5", without), 5);
  EXPECT_EQ(*ranks_of_host("cpu", with_gpus), 8);
  EXPECT_EQ(*ranks_of_host("gpu", with_gpus), 2);
  EXPECT_EQ(*ranks_of_host("auto", with_gpus), 2);
  EXPECT_EQ(*ranks_of_host("auto", without), 8);
  for (const char* text : {"gpu", "0", "-1", "x", "", "99999999999"}) {
    EXPECT_FALSE(ranks_of_host(text, without).ok()) << text;
  }
}

TEST(RanksOfHost, CountTheGpusOfTheDriver) {
  EXPECT_GE(gpu_count(HVD_FAKE_CUDA), 1);
  EXPECT_EQ(gpu_count("/nonexistent/libcuda.so"), 0);
}

}  // namespace
}  // namespace hvd::launcher
