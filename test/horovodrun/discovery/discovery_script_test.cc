// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/discovery/discovery_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "horovodrun/discovery/await_hosts.h"

namespace hvd::launcher {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Hosts = std::vector<Host>;

Discovery shell(const std::string& command) {
  return {.script = {"sh", "-c", command}, .slots_per_host = 2};
}

class DiscoveryScriptTest : public testing::Test {
 protected:
  // Waits for the end of the run that proceed() has begun.
  DiscoveryScript::Hosts outcome(DiscoveryScript& script) {
    for (;;) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid > 0) script.child_ended(pid, status);
      if (auto hosts = script.proceed(now_)) return *hosts;
      std::vector<pollfd> fds;
      script.add_awaited(&fds);
      poll(fds.data(), fds.size(), 1);
    }
  }
  std::string failure_of(const std::string& command) {
    DiscoveryScript script(shell(command), now_);
    return std::string(outcome(script).status().message());
  }

  Clock::TimePoint now_{};
};

TEST_F(DiscoveryScriptTest, NamesHostsOnceASecond) {
  DiscoveryScript script(shell("echo a; echo b:3"), now_ + 1s);
  EXPECT_FALSE(script.proceed(now_));
  EXPECT_EQ(script.deadline(), now_ + 1s);
  now_ += 1s;
  const auto hosts = outcome(script);
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_EQ(*hosts, (Hosts{{"a", 2}, {"b", 3}}));
  EXPECT_EQ(script.deadline(), now_ + DiscoveryScript::kInterval);
  now_ += DiscoveryScript::kInterval;
  EXPECT_TRUE(outcome(script).ok());
}

TEST_F(DiscoveryScriptTest, MayPrintMoreThanAPipeHolds) {
  DiscoveryScript script(shell("i=0; while [ $i -lt 9000 ]; do i=$((i+1)); "
                               "echo a-host-with-a-name:1; done"),
                         now_);
  const auto hosts = outcome(script);
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_EQ(*hosts, (Hosts{{"a-host-with-a-name", 1}}));
}

TEST_F(DiscoveryScriptTest, TellsWhyARunFailed) {
  EXPECT_EQ(failure_of("echo a; exit 3"),
            "the discovery script 'sh' (--host-discovery-script) failed: it "
            "exited with code 3");
  EXPECT_THAT(failure_of("echo no cloud >&2; exit 1"),
              HasSubstr("it exited with code 1: no cloud"));
  EXPECT_THAT(failure_of("kill -9 $$"), HasSubstr("it was killed by signal 9"));
  EXPECT_THAT(failure_of("echo a b"), HasSubstr("it printed 'a b'"));
}

TEST_F(DiscoveryScriptTest, TellsThatTheProgramIsMissing) {
  DiscoveryScript script({.script = {"/no/program"}}, now_);
  const auto hosts = script.proceed(now_);
  ASSERT_TRUE(hosts);
  EXPECT_THAT(std::string(hosts->status().message()),
              HasSubstr("'/no/program' (--host-discovery-script) failed: No "
                        "such file or directory"));
  EXPECT_EQ(script.deadline(), now_ + DiscoveryScript::kInterval);
}

TEST_F(DiscoveryScriptTest, KillsARunThatTakesTooLong) {
  DiscoveryScript script(shell("sleep 1000; :"), now_);
  EXPECT_FALSE(script.proceed(now_));
  now_ += DiscoveryScript::kLongestRun;
  EXPECT_THAT(std::string(outcome(script).status().message()),
              HasSubstr("it ran for more than 60 s"));
}

TEST_F(DiscoveryScriptTest, KillsARunAtItsEnd) {
  DiscoveryScript script(shell("sleep 1000; :"), now_);
  EXPECT_FALSE(script.proceed(now_));
  script.end();
  int status = 0;
  EXPECT_GT(waitpid(-1, &status, 0), 0);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(script.deadline(), Clock::TimePoint::max());
}

TEST_F(DiscoveryScriptTest, IsAwaitedUntilItsHostsHaveEnoughSlots) {
  const auto hosts = await_hosts(shell("echo a; echo b:3"), 5, 60s);
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_EQ(*hosts, (Hosts{{"a", 2}, {"b", 3}}));
  EXPECT_EQ(await_hosts(shell("echo a"), 3, 0ms).status().message(),
            "the discovery script (--host-discovery-script) has named 2 slots, "
            "and the job needs 3: they did not come within 0 s "
            "(--elastic-timeout)");
  EXPECT_THAT(
      std::string(await_hosts(shell("exit 3"), 1, 60s).status().message()),
      HasSubstr("exited with code 3"));
}

}  // namespace
}  // namespace hvd::launcher
