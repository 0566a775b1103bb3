// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/host.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "test/transport/child_process.h"

namespace hvd::transport {
namespace {

// Writes to a pipe without a reader; returns errno, or 0.
int write_to_a_closed_pipe() {
  int ends[2];
  if (::pipe(ends) != 0) return errno;
  ::close(ends[0]);
  return ::write(ends[1], "x", 1) == 1 ? 0 : errno;
}

TEST(BrokenPipe, IsAnErrorAndNotTheEnd) {
  ChildProcess child([] {
    ::signal(SIGPIPE, SIG_DFL);
    ignore_broken_pipes();
    return write_to_a_closed_pipe();
  });
  EXPECT_EQ(child.exit_code(), EPIPE);
}

TEST(BrokenPipe, IsLeftToAProgramThatHasItsOwnWay) {
  ChildProcess child([] {
    ::signal(SIGPIPE, [](int) { ::_exit(7); });
    ignore_broken_pipes();
    return write_to_a_closed_pipe();
  });
  EXPECT_EQ(child.exit_code(), 7);
}

}  // namespace
}  // namespace hvd::transport
