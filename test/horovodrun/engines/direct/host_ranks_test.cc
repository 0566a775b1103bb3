// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/direct/host_ranks.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "horovodrun/engines/direct/control.h"
#include "test/horovodrun/test_process.h"

namespace hvd::launcher {
namespace {

using ::testing::HasSubstr;

constexpr int kEnded = 128 + SIGTERM;

// The process of a host, whose control messages this test sends.
class HostRanksTest : public testing::Test {
 protected:
  HostRanksTest()
      : pipe_(testing::TempDir() + "/host_ranks_test." +
              std::to_string(getpid())) {
    unlink(pipe_.c_str());
    mkfifo(pipe_.c_str(), 0600);
    control_ = open(pipe_.c_str(), O_RDWR | O_CLOEXEC);
  }
  ~HostRanksTest() override {
    hang_up();
    unlink(pipe_.c_str());
  }

  std::vector<std::string> argv() const {
    return {"sh", "-c",
            std::string("exec ") + HVD_HOROVODRUN +
                " --start-ranks-of-host < " + pipe_};
  }
  void send(const std::string& bytes) const {
    ASSERT_EQ(write(control_, bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  void send(const ControlMessage& message) const { send(to_bytes(message)); }
  // Runs a shell's command as if it were the agent.
  void order(const std::string& command, HostOrder order = {}) const {
    order.agent = {"sh", "-c", command};
    if (order.folder.empty()) order.folder = "/";
    send({.kind = ControlMessage::Kind::kOrder, .order = order});
  }
  void hang_up() {
    if (control_ >= 0) close(control_);
    control_ = -1;
  }

  const std::string pipe_;
  int control_ = -1;
};

TEST_F(HostRanksTest, StartTheirAgents) {
  TestProcess process(argv());
  order(
      "echo rank $HOROVOD_RANK, $HOROVOD_LOCAL_RANK of $HOROVOD_LOCAL_SIZE: "
      "$GIVEN $PWD",
      {.first_rank = 4,
       .ranks = 2,
       .folder = "/usr",
       .environment = {{"GIVEN", "a b"}}});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("rank 4, 0 of 2: a b /usr\n"));
  EXPECT_THAT(outcome.out, HasSubstr("rank 5, 1 of 2: a b /usr\n"));
}

TEST_F(HostRanksTest, PassSignalsAndInputOn) {
  TestProcess process(argv());
  order(
      "trap 'read word; echo got $word; cat; exit 0' USR1; echo ready; "
      "while :; do sleep 0.01; done");
  ASSERT_TRUE(process.wait_for("ready"));
  send({.kind = ControlMessage::Kind::kInput, .input = "this\nand "});
  send({.kind = ControlMessage::Kind::kInput, .input = "that\n"});
  send({.kind = ControlMessage::Kind::kInput});
  send({.kind = ControlMessage::Kind::kSignal, .signal = SIGUSR1});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("got this\nand that\n"));
}

TEST_F(HostRanksTest, EndWithTheConnection) {
  TestProcess process(argv());
  order("echo ready; exec sleep 1000");
  ASSERT_TRUE(process.wait_for("ready"));
  hang_up();
  EXPECT_EQ(process.wait().code, kEnded);
}

TEST_F(HostRanksTest, EndAfterALongSilence) {
  TestProcess process(argv());
  order("exec sleep 1000", {.longest_silence = std::chrono::milliseconds(100)});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, kEnded);
  EXPECT_THAT(outcome.err, HasSubstr("its ranks end: the launcher has been "
                                     "silent for 0.1 s"));
}

TEST_F(HostRanksTest, EndAtBytesThatAreNoMessage) {
  TestProcess process(argv());
  send("Welcome to this host\n");
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("a control message is too long"));
}

TEST_F(HostRanksTest, SayThatTheFolderIsMissing) {
  TestProcess process(argv());
  order("true", {.folder = "/no/such/folder"});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("there is no folder /no/such/folder, so "
                                     "its ranks start in the home folder"));
}

TEST_F(HostRanksTest, SayThatAnAgentCannotStart) {
  TestProcess process(argv());
  send(
      {.kind = ControlMessage::Kind::kOrder,
       .order = {.first_rank = 2, .folder = "/", .agent = {"/no/such/agent"}}});
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("cannot start rank 2: "));
}

TEST(HostRanks, AreNotForUsers) {
  TestProcess process({HVD_HOROVODRUN, "--start-ranks-of-host", "word"});
  EXPECT_EQ(process.wait().code, 2);
}

}  // namespace
}  // namespace hvd::launcher
