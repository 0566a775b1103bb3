// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/settings/config.h"
#include "test/runtime/runtime_suite.h"

namespace hvd {
namespace {

class RuntimeSuite : public ::testing::TestWithParam<suite::Case> {};

INSTANTIATE_TEST_SUITE_P(Processes, RuntimeSuite,
                         ::testing::ValuesIn(suite::all_cases()),
                         [](const auto& chosen) {
                           return std::string(chosen.param.name);
                         });

TEST_P(RuntimeSuite, HoldsOnOneNode) {
  ASSERT_EQ(init(), absl::OkStatus());
  GetParam().run(current_runtime());
  // Ranks in few process sets finish early.
  EXPECT_EQ(barrier(), absl::OkStatus());
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

TEST_P(RuntimeSuite, HoldsOnNodesOfTwoRanks) {
  absl::StatusOr<Config> config = Config::from_env();
  ASSERT_EQ(config.status(), absl::OkStatus());
  config->ranks_per_node = 2;
  ASSERT_EQ(init(*config), absl::OkStatus());
  EXPECT_EQ(cross_size(), (size() + 1 - local_rank()) / 2);
  GetParam().run(current_runtime());
  // Ranks in few process sets finish early.
  EXPECT_EQ(barrier(), absl::OkStatus());
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

TEST(Global, StartsAndStopsManyTimes) {
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(init(), absl::OkStatus());
    EXPECT_TRUE(is_initialized());
    float value = 1;
    ASSERT_EQ(allreduce_(TensorView::of(&value, {}), {.op = ReduceOp::kSum}),
              absl::OkStatus());
    EXPECT_EQ(value, static_cast<float>(size()));
    ASSERT_EQ(shutdown(), absl::OkStatus());
    EXPECT_FALSE(is_initialized());
  }
}

TEST(Global, RefusesAWorldOfAnotherSizeThanPromised) {
  absl::StatusOr<Config> config = Config::from_env();
  ASSERT_EQ(config.status(), absl::OkStatus());
  config->expected_size = 1000;
  const absl::Status status = init(*config);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("1000"));
}

}  // namespace
}  // namespace hvd
