// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/system/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/nn/safetensors.h"
#include "test/support/expect_error.h"
#include "test/support/file_size_limit.h"
#include "test/support/temporary_folder.h"

namespace hvd::nn {
namespace {

using testing::HasSubstr;

std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(AtomicFile, ReportsAnUnwritablePath) {
  TemporaryFolder folder;
  EXPECT_THROW(AtomicFile(folder.path("none/f")), Error);
  std::ofstream(folder.path("file")) << "x";
  EXPECT_THROW(AtomicFile(folder.path("file/f")), Error);
  std::filesystem::create_directory(folder.path("taken"));
  std::ofstream(folder.path("taken/inside")) << "x";
  EXPECT_THROW(AtomicFile(folder.path("taken")), Error);
  EXPECT_THROW(AtomicFile(folder.path("")), Error);
  EXPECT_FALSE(std::filesystem::exists(folder.path("taken.partial")));
}

TEST(AtomicFile, BeyondALimitOnFilesIsAnError) {
  TemporaryFolder folder;
  const FileSizeLimit limit(8);
  AtomicFile file(folder.path("f"));
  EXPECT_TRUE(absl::IsResourceExhausted(
      error_of([&] { file.write("more than eight", 15); })));
}

TEST(AtomicFile, NeverReplacesADevice) {
  TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  const Status status = error_of([&] { AtomicFile file(folder.path("pipe")); });
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(folder.path("pipe")));
  EXPECT_TRUE(std::filesystem::is_fifo(folder.path("pipe")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("pipe.partial")));
}

TEST(AtomicFile, ReplacesTheFileBehindALinkAndNotTheLink) {
  TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    AtomicFile file(folder.path(name));
    file.write(text.data(), text.size());
    file.commit();
  };
  std::filesystem::create_directory(folder.path("disk"));
  std::filesystem::create_symlink("disk/f", folder.path("second"));
  std::filesystem::create_symlink("second", folder.path("first"));
  write("first", "new");  // Creates the file.
  EXPECT_EQ(read_bytes(folder.path("disk/f")), "new");
  write("first", "newer");  // Replaces the file.
  EXPECT_EQ(read_bytes(folder.path("disk/f")), "newer");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("first")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("second")));
  std::filesystem::create_symlink("loop", folder.path("loop"));
  EXPECT_THROW(AtomicFile(folder.path("loop")), Error);
}

TEST(AtomicFile, OverwritesThePartialFileOfAKilledWriter) {
  TemporaryFolder folder;
  std::ofstream(folder.path("f.partial")) << "much of an older file";
  AtomicFile file(folder.path("f"));
  file.write("new", 3);
  EXPECT_FALSE(std::filesystem::exists(folder.path("f")));
  file.commit();
  EXPECT_EQ(read_bytes(folder.path("f")), "new");
  EXPECT_FALSE(std::filesystem::exists(folder.path("f.partial")));
}

TEST(AtomicFile, LeavesTheOldFileIfTheProgramIsKilled) {
  TemporaryFolder folder;
  save_safetensors(folder.path("f"), {{"a", full({2}, 1.0)}});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    AtomicFile file(folder.path("f"));
    file.write("half", 4);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto value = [&] {
    const auto file = load_safetensors(folder.path("f"));
    return file.tensors[0].tensor.to_vector<float>()[0];
  };
  EXPECT_EQ(value(), 1.0f);
  save_safetensors(folder.path("f"), {{"a", full({2}, 2.0)}});
  EXPECT_EQ(value(), 2.0f);
}

// The child writes one file after the other. Whenever it is killed, the last
// file is complete, and not older than the file seen before.
TEST(AtomicFile, IsCompleteIfTheWriterIsKilledAtAnyTime) {
  TemporaryFolder folder;
  const std::string path = folder.path("f");
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> any_number(0, 2000);
  float seen = 0;
  for (int round = 0; round < 40; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (float value = seen + 1;; ++value) {
        save_safetensors(path, {{"a", full({5000}, value)}});
      }
    }
    while (!std::filesystem::exists(path)) std::this_thread::yield();
    int looks = any_number(random);
    while (looks-- > 0 || !std::filesystem::exists(path + ".partial")) {
    }
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const auto file = load_safetensors(path);
    const auto values = file.tensors.at(0).tensor.to_vector<float>();
    ASSERT_GE(values[0], seen);
    ASSERT_THAT(values, testing::Each(values[0]));
    seen = values[0];
  }
  EXPECT_GT(seen, 0);
}

TEST(AtomicFile, RefusesASecondWriter) {
  TemporaryFolder folder;
  AtomicFile first(folder.path("f"));
  const Status status = error_of([&] { AtomicFile second(folder.path("f")); });
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  first.write("1", 1);
  first.commit();
  EXPECT_EQ(read_bytes(folder.path("f")), "1");
}

}  // namespace
}  // namespace hvd::nn
