// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "horovodpp/runtime/global.h"
#include "test/distributed/suite.h"

namespace hvd {
namespace {

class TensorSuite : public ::testing::TestWithParam<suite::TensorCase> {};

INSTANTIATE_TEST_SUITE_P(Processes, TensorSuite,
                         ::testing::ValuesIn(suite::all_tensor_cases()),
                         [](const auto& chosen) {
                           return std::string(chosen.param.name);
                         });

TEST_P(TensorSuite, Holds) {
  ASSERT_EQ(init(), absl::OkStatus());
  GetParam().run();
  EXPECT_EQ(barrier(), absl::OkStatus());
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

}  // namespace
}  // namespace hvd
