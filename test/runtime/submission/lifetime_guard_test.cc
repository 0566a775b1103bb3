// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/submission/guard.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>

namespace hvd::runtime {
namespace {

TEST(LifetimeGuard, AdmitsUntilShut) {
  int behind = 7;
  LifetimeGuard<int> guard(&behind);
  const std::weak_ptr<int> key = guard.key();
  EXPECT_EQ(key.lock().get(), &behind);
  guard.shut();
  EXPECT_EQ(key.lock(), nullptr);
  EXPECT_EQ(guard.key().lock(), nullptr);
  guard.shut();
}

TEST(LifetimeGuard, ShuttingWaitsForThreadsInside) {
  int behind = 7;
  LifetimeGuard<int> guard(&behind);
  std::latch is_inside(1);
  std::latch may_leave(1);
  std::atomic<bool> is_leaving = false;
  std::thread guest([&, key = guard.key()] {
    const std::shared_ptr<int> inside = key.lock();
    is_inside.count_down();
    may_leave.wait();
    is_leaving.store(true);
  });
  is_inside.wait();
  may_leave.count_down();
  guard.shut();
  EXPECT_TRUE(is_leaving.load());
  guest.join();
}

}  // namespace
}  // namespace hvd::runtime
