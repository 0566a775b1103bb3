// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/wake_pipe.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace hvd::transport {
namespace {

bool is_readable(const WakePipe& wake) {
  pollfd polled = {.fd = wake.descriptor(), .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, 0) == 1;
}

TEST(WakePipe, IsReadableFromAWakeToAClear) {
  const WakePipe wake;
  ASSERT_TRUE(wake.is_open());
  EXPECT_FALSE(is_readable(wake));
  wake.clear();
  for (int i = 0; i < 100'000; ++i) wake.wake();  // More than a pipe holds.
  EXPECT_TRUE(is_readable(wake));
  wake.clear();
  EXPECT_FALSE(is_readable(wake));
}

TEST(WakePipe, IsNotMistakenForAnotherPipeOfItsNumbers) {
  const WakePipe wake;
  EXPECT_TRUE(wake.is_there());
  const int reading = wake.descriptor();
  ASSERT_EQ(::close(reading), 0);
  EXPECT_FALSE(wake.is_there());
  int other[2];
  ASSERT_EQ(::pipe(other), 0);
  ASSERT_EQ(other[0], reading);
  EXPECT_FALSE(wake.is_there());
  ASSERT_EQ(::write(other[1], "x", 1), 1);
  wake.wake();
  wake.clear();
  char byte = 0;
  EXPECT_EQ(::read(other[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  ::close(other[0]);
  ::close(other[1]);
}

}  // namespace
}  // namespace hvd::transport
