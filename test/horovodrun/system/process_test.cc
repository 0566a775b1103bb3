// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "horovodrun/system/process_tree.h"
#include "test/horovodrun/frozen_group.h"

namespace hvd::launcher {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::StartsWith;

int wait_status(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

TEST(Spawn, GivesArgumentsAndEnvironmentUnchanged) {
  const Spawned spawned =
      spawn({"sh", "-c", "[ \"$1\" = 'a  b;$(x)' ] && [ \"$V\" = '* y' ]", "sh",
             "a  b;$(x)"},
            {.environment = {{"V", "* y"}}});
  ASSERT_EQ(spawned.error, 0);
  EXPECT_EQ(wait_status(spawned.pid), 0);
}

TEST(Spawn, ReportsTheErrorOfAnUnrunnableProgram) {
  EXPECT_EQ(spawn({"./no-such-program"}, {}).error, ENOENT);
  EXPECT_EQ(spawn({"/"}, {}).error, EACCES);
}

TEST(DescribeStartError, SuggestsToRaiseTheProcessLimit) {
  EXPECT_THAT(describe_start_error(EAGAIN), ::testing::HasSubstr("ulimit -u"));
  EXPECT_EQ(describe_start_error(EACCES), "Permission denied");
}

TEST(Spawn, MakesAProcessGroup) {
  const Spawned spawned = spawn({"sleep", "1000"}, {.own_group = true});
  ASSERT_EQ(spawned.error, 0);
  EXPECT_EQ(getpgid(spawned.pid), spawned.pid);
  kill(-spawned.pid, SIGKILL);
  EXPECT_EQ(WTERMSIG(wait_status(spawned.pid)), SIGKILL);
}

TEST(Spawn, RestoresSignalsInTheChild) {
  std::signal(SIGUSR1, SIG_IGN);
  const sigset_t all = signal_set({SIGUSR1, SIGUSR2});
  sigset_t before;
  sigprocmask(SIG_BLOCK, &all, &before);
  const Spawned spawned = spawn({"sleep", "1000"}, {.mask = signal_set({})});
  sigprocmask(SIG_SETMASK, &before, nullptr);
  std::signal(SIGUSR1, SIG_DFL);
  kill(spawned.pid, SIGUSR1);
  EXPECT_EQ(WTERMSIG(wait_status(spawned.pid)), SIGUSR1);
}

TEST(ReapChildren, ReportsOneChildAndReapsAll) {
  const Spawned one = spawn({"sh", "-c", "exit 3"}, {});
  const Spawned other = spawn({"true"}, {});
  for (const Spawned& child : {one, other}) {
    ASSERT_EQ(child.error, 0);
    siginfo_t info;
    ASSERT_EQ(
        waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOWAIT),
        0);
  }
  const auto status = reap_children(one.pid);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(WEXITSTATUS(*status), 3);
  EXPECT_EQ(waitpid(other.pid, nullptr, 0), -1);
  EXPECT_FALSE(reap_children(one.pid).has_value());
}

TEST(Capture, TakesBothStreams) {
  const Captured captured = capture({"sh", "-c", "echo out; echo err >&2"});
  EXPECT_EQ(captured.error, 0);
  EXPECT_EQ(captured.text, "out\nerr\n");
  EXPECT_EQ(capture({"./no-such-program"}).error, ENOENT);
}

TEST(ShellQuoted, CanBePasted) {
  EXPECT_EQ(shell_quoted({"a", "b c", "", "it's", "A=1,2:/x"}),
            "a 'b c' '' 'it'\\''s' A=1,2:/x");
}

TEST(KillDescendants, ReachesOrphansInGroupsOfTheirOwn) {
  adopt_orphans();
  const Spawned spawned = spawn({"sh", "-c", "setsid sleep 1000 & exit 0"},
                                {.environment = current_environment()});
  ASSERT_EQ(spawned.error, 0);
  wait_status(spawned.pid);
  const Spawned second = spawn({"sleep", "1000"}, {});
  EXPECT_THAT(descendants(), Contains(second.pid));
  EXPECT_EQ(kill_descendants().found, 2);
  EXPECT_TRUE(descendants().empty());
}

TEST(KillDescendants, GivesUpOnFrozenProcesses) {
  FrozenGroup group;
  if (!group.exists()) GTEST_SKIP() << kNoFreezer;
  const Spawned spawned = spawn({"sleep", "1000"}, {});
  ASSERT_EQ(spawned.error, 0);
  group.freeze_process(spawned.pid);
  const Killed killed = kill_descendants(std::chrono::milliseconds(20));
  EXPECT_EQ(killed.found, 1);
  EXPECT_THAT(killed.left, ElementsAre(spawned.pid));
  EXPECT_THAT(where_it_waits(spawned.pid),
              StartsWith("thread " + std::to_string(spawned.pid) +
                         " is in state D (waits in the kernel)"));
}

// As in a hung driver call after the first thread has ended.
TEST(KillDescendants, SeesAThreadThatTheKernelHolds) {
  FrozenGroup group;
  if (!group.exists()) GTEST_SKIP() << kNoFreezer;
  int ids[2];
  ASSERT_EQ(pipe(ids), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::thread([&] {
      const pid_t id = gettid();
      while (write(ids[1], &id, sizeof id) > 0) pause();
    }).join();
  }
  pid_t thread = 0;
  ASSERT_EQ(read(ids[0], &thread, sizeof thread), ssize_t{sizeof thread});
  group.freeze_thread(thread);
  EXPECT_THAT(kill_descendants(std::chrono::milliseconds(20)).left,
              ElementsAre(child));
  EXPECT_THAT(
      where_it_waits(child),
      StartsWith("thread " + std::to_string(thread) + " is in state D"));
  close(ids[0]);
  close(ids[1]);
}

}  // namespace
}  // namespace hvd::launcher
