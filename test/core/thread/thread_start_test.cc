// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/thread/thread_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "test/support/no_threads.h"

namespace hvd {
namespace {

TEST(ThreadStart, BlocksSignalsThereAndLeavesThemHere) {
  sigset_t there;
  sigset_t here;
  auto thread = start_thread("looks at its signals", [&] {
    ::pthread_sigmask(SIG_BLOCK, nullptr, &there);
  });
  ASSERT_EQ(thread.status(), absl::OkStatus());
  thread->join();
  ::pthread_sigmask(SIG_BLOCK, nullptr, &here);
  EXPECT_EQ(::sigismember(&there, SIGTERM), 1);
  EXPECT_EQ(::sigismember(&here, SIGTERM), 0);
}

TEST(ThreadStart, NamesThePurposeOfAThreadThatCannotStart) {
  const NoThreads none;
  const auto thread = start_thread("runs the job", [] { FAIL(); });
  EXPECT_TRUE(absl::IsResourceExhausted(thread.status()));
  EXPECT_THAT(
      std::string(thread.status().message()),
      ::testing::AllOf(::testing::HasSubstr("the thread that runs the job"),
                       ::testing::HasSubstr("ulimit -u")));
}

}  // namespace
}  // namespace hvd
