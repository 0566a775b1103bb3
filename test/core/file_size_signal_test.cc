// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/system/file_error.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "test/support/file_size_limit.h"

namespace hvd {
namespace {

// Writes more to a file than the limit allows.
int error_of_a_long_write() {
  const FileSizeLimit limit(4);
  std::FILE* file = std::tmpfile();
  EXPECT_EQ(::write(::fileno(file), "four", 4), 4);
  const int error = ::write(::fileno(file), "more", 4) < 0 ? errno : 0;
  std::fclose(file);
  return error;
}

TEST(FileSizeSignal, IsAnErrorAndLeavesNoPendingSignal) {
  {
    const FileSizeSignal as_error;
    EXPECT_EQ(error_of_a_long_write(), EFBIG);
    EXPECT_EQ(error_of_a_long_write(), EFBIG);
  }
  sigset_t blocked;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  EXPECT_EQ(::sigismember(&blocked, SIGXFSZ), 0);
}

TEST(FileSizeSignal, LeavesAProgramThatBlocksTheSignalItsOwn) {
  sigset_t set;
  sigset_t before;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGXFSZ);
  ::pthread_sigmask(SIG_BLOCK, &set, &before);
  {
    const FileSizeSignal as_error;
    EXPECT_EQ(error_of_a_long_write(), EFBIG);
  }
  sigset_t pending;
  ::sigpending(&pending);
  EXPECT_EQ(::sigismember(&pending, SIGXFSZ), 1);
  int signal = 0;
  ::sigwait(&set, &signal);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace hvd
