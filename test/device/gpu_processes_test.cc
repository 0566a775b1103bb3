// SPDX-License-Identifier: Apache-2.0
// Ranks with GPUs as processes, one of which is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

constexpr int kProcesses = 3;

// The ranks of a job that do `what`, with `more` environment variables.
std::vector<Process> start_job(const std::string& program,
                               const std::vector<std::string>& more) {
  std::vector<Process> processes;
  for (int rank = 0; rank < kProcesses; ++rank) {
    std::vector<std::string> variables = {
        absl::StrCat("HOROVODPP_RENDEZVOUS=gpu processes test.", getpid(),
                     program),
        absl::StrCat("HOROVOD_RANK=", rank),
        absl::StrCat("HOROVOD_SIZE=", kProcesses),
        absl::StrCat("HOROVODPP_CUDA_LIBRARY=", testing::FakeCuda::file()),
        absl::StrCat("HOROVODPP_NCCL_LIBRARY=", testing::FakeNccl::file()),
        absl::StrCat("GPU_RANK=", program),
        "HOROVODPP_MEASURE_CROSSOVERS=0"};
    variables.insert(variables.end(), more.begin(), more.end());
    processes.push_back(start(variables));
  }
  return processes;
}

// The output and exit state of a process.
struct Ended {
  std::string text;
  int state = 0;
};
Ended end_of(const Process& process) {
  Ended ended = {.text = output_of(process)};
  EXPECT_EQ(waitpid(process.pid, &ended.state, 0), process.pid);
  return ended;
}

void expect_that_the_others_go_on(const std::vector<Process>& processes,
                                  const std::string& how) {
  for (int rank = 0; rank < kProcesses; ++rank) {
    const Ended ended = end_of(processes[static_cast<std::size_t>(rank)]);
    if (rank == 1) {
      EXPECT_TRUE(WIFSIGNALED(ended.state) && WTERMSIG(ended.state) == SIGKILL)
          << ended.text;
      continue;
    }
    EXPECT_TRUE(WIFEXITED(ended.state) && WEXITSTATUS(ended.state) == 0)
        << ended.text;
    EXPECT_THAT(ended.text,
                AllOf(HasSubstr("heard: rank 1 ("),
                      HasSubstr(absl::StrCat("went on: 2 of 2, ", how)),
                      HasSubstr("the GPU has done all that it was given")));
  }
}

TEST(GpuProcesses, SurviveADeathDuringACollectiveOfNccl) {
  HVD_NEEDS_STAND_INS();
  expect_that_the_others_go_on(start_job("nccl", {"FAKE_NCCL_FAULT=hang:1:2"}),
                               "by NCCL");
}

// The survivors' streams do not wait for the killed rank.
TEST(GpuProcesses, SurviveADeathDuringAReductionInWindows) {
  HVD_NEEDS_STAND_INS();
  expect_that_the_others_go_on(start_job("ipc", {"HOROVOD_GPU_OPERATIONS=MPI"}),
                               "without");
}

// The driver registers its exit handler at first use, after the job's handler.
TEST(GpuProcesses, LeaveAtExitBeforeTheDriverUnloads) {
  HVD_NEEDS_STAND_INS();
  for (const Process& process : start_job("exits", {})) {
    const Ended ended = end_of(process);
    EXPECT_TRUE(WIFEXITED(ended.state) && WEXITSTATUS(ended.state) == 0)
        << ended.text;
    EXPECT_EQ(ended.text, "summed, by NCCL\n");
  }
}

}  // namespace
}  // namespace hvd
