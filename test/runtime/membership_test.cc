// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>

#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::HasSubstr;
using transport::LoopbackWorld;

void expect_ended(const Membership& membership) {
  const absl::Status status = membership.enter().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("create the object again"));
}

TEST(Membership, LeadsIntoTheJobUntilTheRankHasLeft) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    const Membership membership = job.membership();
    EXPECT_EQ(membership.enter()->get(), &job);
    EXPECT_EQ(job.stop(), absl::OkStatus());
    expect_ended(membership);
    expect_ended(job.membership());
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
  expect_ended(Membership());
}

TEST(Membership, EndsWithItsRuntime) {
  Membership membership;
  run_world({.size = 1}, [&](Runtime& job, LoopbackWorld&) {
    membership = job.membership();
  });
  expect_ended(membership);
}

TEST(Membership, LastsInABrokenJobUntilItIsReformed) {
  run_world({.size = 1}, [](Runtime& job, LoopbackWorld&) {
    const Membership membership = job.membership();
    job.abort("is tired");
    EXPECT_EQ(membership.enter().status(), absl::OkStatus());
    const auto next = job.reform();
    ASSERT_EQ(next.status(), absl::OkStatus());
    expect_ended(membership);
    EXPECT_EQ((*next)->membership().enter()->get(), next->get());
  });
}

TEST(Membership, ItsEndWaitsForThreadsInside) {
  run_world({.size = 1}, [](Runtime& job, LoopbackWorld&) {
    std::latch inside(1);
    std::atomic<bool> is_out{false};
    std::thread visitor([&, membership = job.membership()] {
      auto entered = membership.enter();
      inside.count_down();
      // Until no rank can enter the next job.
      while (membership.enter().ok() &&
             !absl::IsFailedPrecondition((*entered)->barrier_async().wait())) {
      }
      is_out = true;
      entered = absl::CancelledError();
    });
    inside.wait();
    EXPECT_EQ(job.stop(), absl::OkStatus());
    EXPECT_TRUE(is_out);
    visitor.join();
  });
}

}  // namespace
}  // namespace hvd
