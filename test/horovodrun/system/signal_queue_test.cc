// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/signal_queue.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace hvd::launcher {
namespace {

class SignalQueueTest : public testing::Test {
 protected:
  SignalQueueTest() { sigprocmask(SIG_SETMASK, nullptr, &before_); }
  ~SignalQueueTest() override { sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

TEST_F(SignalQueueTest, ReturnsEachSignalOnceWithItsSender) {
  const SignalQueue queue({SIGUSR1, SIGUSR2});
  EXPECT_FALSE(queue.next().has_value());
  kill(getpid(), SIGUSR2);
  const auto arrival = queue.next();
  ASSERT_TRUE(arrival.has_value());
  EXPECT_EQ(arrival->signal, SIGUSR2);
  EXPECT_EQ(arrival->sender, getpid());
  EXPECT_FALSE(queue.next().has_value());
}

TEST_F(SignalQueueTest, LeavesItsSignalsBlockedWhenItIsGone) {
  { const SignalQueue queue({SIGUSR1}); }
  kill(getpid(), SIGUSR1);  // Unblocked, it would end this test.
  EXPECT_EQ(SignalQueue({SIGUSR1}).next()->signal, SIGUSR1);
}

// Each wait would last an hour.
TEST_F(SignalQueueTest, WaitsNoLongerThanUntilASignalComes) {
  const SignalQueue queue({SIGUSR1});
  const ParentWatch parent(getppid());
  kill(getpid(), SIGUSR1);
  wait_for_signal(queue, parent);
  EXPECT_TRUE(queue.next().has_value());
}

TEST_F(SignalQueueTest, StopsWaitingWhenAFileIsReadable) {
  const SignalQueue queue({SIGUSR1});
  const ParentWatch parent(getppid());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  wait_for_signal(queue, parent, {.readable = ends[0]});
  EXPECT_FALSE(queue.next().has_value());
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace hvd::launcher
