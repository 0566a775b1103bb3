// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/pipes/pipe_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace hvd::launcher {
namespace {

std::string read_some(int fd) {
  std::string bytes(1 << 16, '\0');
  const ssize_t size = read(fd, bytes.data(), bytes.size());
  bytes.resize(static_cast<std::size_t>(size < 0 ? 0 : size));
  return bytes;
}

TEST(PipeWriter, KeepsBytesThatDoNotFit) {
  PipeWriter writer;
  std::string sent(1 << 20, 'a');
  for (std::size_t i = 0; i < sent.size(); ++i) {
    sent[i] = static_cast<char>('a' + i % 23);
  }
  writer.add(sent);
  writer.end();
  EXPECT_GT(writer.unwritten(), 0u);
  EXPECT_GE(writer.awaited(), 0);
  std::string arrived;
  while (arrived.size() < sent.size()) {
    const std::string some = read_some(writer.reading_end());
    ASSERT_FALSE(some.empty());
    arrived += some;
    writer.write_some();
  }
  EXPECT_EQ(arrived, sent);
  EXPECT_FALSE(writer.is_open());
  EXPECT_EQ(read_some(writer.reading_end()), "");
}

TEST(PipeWriter, DropsBytesWithoutAReader) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  PipeWriter writer;
  writer.close_reading_end();
  writer.add("lost");
  EXPECT_FALSE(writer.is_open());
  EXPECT_EQ(writer.unwritten(), 0u);
  writer.add("lost, too");
  EXPECT_EQ(writer.unwritten(), 0u);
  EXPECT_EQ(writer.awaited(), -1);
  std::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace hvd::launcher
