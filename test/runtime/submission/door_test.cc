// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/submission/door.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>

namespace hvd::runtime {
namespace {

TEST(Door, AdmitsUntilShut) {
  int behind = 7;
  Door<int> door(&behind);
  const std::weak_ptr<int> key = door.key();
  EXPECT_EQ(key.lock().get(), &behind);
  door.shut();
  EXPECT_EQ(key.lock(), nullptr);
  EXPECT_EQ(door.key().lock(), nullptr);
  door.shut();
}

TEST(Door, ShuttingWaitsForThreadsInside) {
  int behind = 7;
  Door<int> door(&behind);
  std::latch is_inside(1);
  std::latch may_leave(1);
  std::atomic<bool> is_leaving = false;
  std::thread guest([&, key = door.key()] {
    const std::shared_ptr<int> inside = key.lock();
    is_inside.count_down();
    may_leave.wait();
    is_leaving.store(true);
  });
  is_inside.wait();
  may_leave.count_down();
  door.shut();
  EXPECT_TRUE(is_leaving.load());
  guest.join();
}

}  // namespace
}  // namespace hvd::runtime
