// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/pipes/output_pump.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

namespace hvd::launcher {
namespace {

TEST(OutputPump, BuffersOutputForAFullPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::string bytes;
  for (int i = 0; i < 3'000'000; ++i) bytes.push_back(static_cast<char>(i));
  OutputPump pump(ends[1]);
  pump.add(bytes);
  EXPECT_TRUE(pump.is_full());
  std::string arrived;
  while (pump.awaited_fd() == ends[1]) {
    pump.pump();
    char room[1 << 16];
    const ssize_t count = read(ends[0], room, sizeof room);
    ASSERT_GT(count, 0);
    arrived.append(room, static_cast<size_t>(count));
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  char room[1 << 16];
  for (ssize_t count; (count = read(ends[0], room, sizeof room)) > 0;) {
    arrived.append(room, static_cast<size_t>(count));
  }
  EXPECT_TRUE(arrived == bytes);
  EXPECT_EQ(pump.error(), 0);
  close(ends[0]);
  close(ends[1]);
}

TEST(OutputPump, ReportsAFullDisk) {
  const int full = open("/dev/full", O_WRONLY);
  OutputPump pump(full);
  pump.add("x");
  pump.pump();
  EXPECT_EQ(pump.error(), ENOSPC);
  EXPECT_EQ(pump.awaited_fd(), -1);
  pump.add("y");
  EXPECT_EQ(pump.awaited_fd(), -1);
  close(full);
}

TEST(OutputPump, AcceptsAClosedReader) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  OutputPump pump(ends[1]);
  pump.add("x");
  pump.pump();
  EXPECT_EQ(pump.error(), 0);
  EXPECT_EQ(pump.awaited_fd(), -1);
  close(ends[1]);
}

}  // namespace
}  // namespace hvd::launcher
