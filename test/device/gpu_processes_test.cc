// SPDX-License-Identifier: Apache-2.0
// Ranks with GPUs that are processes, of which one is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include "test/support/fake_cuda/fake_cuda.h"
#include "test/support/fake_nccl/fake_nccl.h"
#include "test/support/test_gpus.h"

extern char** environ;  // NOLINT: POSIX's.

namespace hvd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Process {
  pid_t pid = -1;
  int output = -1;
};

Process start(const std::vector<std::string>& variables) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], 1);
  posix_spawn_file_actions_addclose(&files, ends[0]);
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    environment.push_back(*entry);
  }
  for (const std::string& variable : variables) {
    environment.push_back(const_cast<char*>(variable.c_str()));
  }
  environment.push_back(nullptr);
  std::string program = HVD_GPU_RANK;
  char* const arguments[] = {program.data(), nullptr};
  Process process;
  EXPECT_EQ(posix_spawn(&process.pid, program.c_str(), &files, nullptr,
                        arguments, environment.data()),
            0);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  process.output = ends[0];
  return process;
}

std::string output_of(const Process& process) {
  std::string text;
  std::array<char, 512> part{};
  ssize_t bytes = 0;
  while ((bytes = read(process.output, part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(bytes));
  }
  close(process.output);
  return text;
}

TEST(GpuProcesses, GoOnByNcclWithoutTheOneThatWasKilledAmidACollective) {
  HVD_NEEDS_STAND_INS();
  constexpr int kProcesses = 3;
  std::vector<Process> processes;
  for (int rank = 0; rank < kProcesses; ++rank) {
    processes.push_back(start(
        {"HOROVODPP_RENDEZVOUS=gpu processes test." + std::to_string(getpid()),
         "HOROVOD_RANK=" + std::to_string(rank),
         "HOROVOD_SIZE=" + std::to_string(kProcesses),
         std::string("HOROVODPP_CUDA_LIBRARY=") + testing::FakeCuda::file(),
         std::string("HOROVODPP_NCCL_LIBRARY=") + testing::FakeNccl::file(),
         "HOROVODPP_MEASURE_CROSSOVERS=0", "FAKE_NCCL_FAULT=hang:1:2"}));
  }
  for (int rank = 0; rank < kProcesses; ++rank) {
    const Process& process = processes[static_cast<std::size_t>(rank)];
    const std::string text = output_of(process);
    int state = 0;
    ASSERT_EQ(waitpid(process.pid, &state, 0), process.pid);
    if (rank == 1) {
      EXPECT_TRUE(WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL) << text;
      continue;
    }
    EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << text;
    EXPECT_THAT(text, AllOf(HasSubstr("heard: rank 1 ("),
                            HasSubstr("went on: 2 of 2, by NCCL")));
  }
}

}  // namespace
}  // namespace hvd
