// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/distributed/tensor_collectives.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "test/distributed/suite.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using transport::LoopbackWorld;

class TensorSuite : public ::testing::TestWithParam<
                        std::tuple<std::pair<int, int>, suite::TensorCase>> {};

constexpr std::pair<int, int> kLayouts[] = {
    {1, 0}, {2, 0}, {3, 0}, {4, 0}, {3, 2}};

std::string suite_name(
    const ::testing::TestParamInfo<TensorSuite::ParamType>& chosen) {
  const auto& [layout, test] = chosen.param;
  return std::string(test.name) + "On" + std::to_string(layout.first) +
         (layout.second == 0 ? "" : "By" + std::to_string(layout.second));
}

INSTANTIATE_TEST_SUITE_P(
    Threads, TensorSuite,
    ::testing::Combine(::testing::ValuesIn(kLayouts),
                       ::testing::ValuesIn(suite::all_tensor_cases())),
    suite_name);

TEST_P(TensorSuite, Holds) {
  const auto [layout, test] = GetParam();
  run_world({.size = layout.first, .ranks_per_node = layout.second},
            [run = test.run](Runtime& job, LoopbackWorld&) {
              const ThreadRuntime current(job);
              run();
              EXPECT_EQ(barrier(), absl::OkStatus());
            });
}

TEST(TensorCollectives, WithoutAJobAreErrorsWithAWayOut) {
  EXPECT_ERROR(Error, "call hvd::init() first",
               static_cast<void>(allreduce(zeros({2}))));
  const Tensor x = zeros({2});
  EXPECT_EQ(allreduce_async_(x).wait().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(x.version(), 0u);
}

TEST(TensorCollectives, AGradientBelongsToTheJobOfItsForward) {
  Tensor result;
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const ThreadRuntime current(job);
    const Tensor x = leaf({1, 2}, {2});
    const Tensor y = allreduce(x);
    // On another thread, which has no current job.
    std::thread([&] {
      y.backward(ones64({2}), {.retain_graph = true});
    }).join();
    EXPECT_EQ(values(x.grad()), suite::repeated(2, 1));
    if (rank() == 0) result = y;
    EXPECT_EQ(barrier(), absl::OkStatus());
  });
  EXPECT_ERROR(Error, "left the job", result.sum().backward());
}

}  // namespace
}  // namespace hvd
