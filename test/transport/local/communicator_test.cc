// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/local/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/core/thread/promise.h"
#include "test/transport/child_process.h"
#include "test/transport/communicator_suite.h"

namespace hvd::transport {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Unique across processes.
std::string new_rendezvous() {
  static std::atomic<int> next = 0;
  return absl::StrCat("test.", ::getpid(), ".", next++);
}

std::chrono::steady_clock::time_point soon(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

constexpr std::chrono::seconds kLong(60);

JobKind local_threads(int size, int ranks_per_node = 0) {
  return {.name = "Local" + std::to_string(size) +
                  (ranks_per_node > 0
                       ? "Of" + std::to_string(ranks_per_node) + "PerNode"
                       : ""),
          .run = [=](const std::function<void(Communicator&)>& body) {
            // Equal for all jobs of a process, as from a launcher.
            static const std::string rendezvous = new_rendezvous();
            std::vector<std::thread> ranks;
            for (int rank = 0; rank < size; ++rank) {
              ranks.emplace_back([&, rank] {
                const auto wires = make_local_communicator(
                    {.rendezvous = absl::StrCat(rendezvous, size),
                     .rank = rank,
                     .size = size,
                     .ranks_per_node = ranks_per_node,
                     .deadline = soon(kLong)});
                ASSERT_TRUE(wires.ok()) << wires.status();
                body(**wires);
              });
            }
            for (std::thread& rank : ranks) rank.join();
          }};
}

INSTANTIATE_TEST_SUITE_P(Local, CommunicatorSuite,
                         ::testing::Values(local_threads(1), local_threads(2),
                                           local_threads(3), local_threads(4),
                                           local_threads(4, 2)),
                         [](const auto& kind) { return kind.param.name; });

// Connects to the address of rank `rank` as a stranger.
int call(const std::string& rendezvous, int rank, const std::string& bytes) {
  const std::string name = absl::StrCat(rendezvous, ".0.", rank);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, name.size());
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  while (::connect(fd, reinterpret_cast<sockaddr*>(&address), length) != 0) {
    std::this_thread::yield();
  }
  EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  return fd;
}

TEST(LocalCommunicator, NamesMissingRanks) {
  const auto wires = make_local_communicator(
      {.rendezvous = new_rendezvous(),
       .rank = 1,
       .size = 3,
       .deadline = soon(std::chrono::milliseconds(50))});
  EXPECT_TRUE(absl::IsDeadlineExceeded(wires.status())) << wires.status();
  EXPECT_THAT(std::string(wires.status().message()),
              HasSubstr("only 1 of 3 ranks came in time; missing: rank 0, rank "
                        "2"));
}

TEST(LocalCommunicator, RefusesAnInvalidRankAndATooLongName) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      make_local_communicator({.rendezvous = "x", .rank = 2, .size = 2})
          .status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      make_local_communicator({.rendezvous = "x", .rank = -1, .size = 2})
          .status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      make_local_communicator(
          {.rendezvous = std::string(80, 'x'), .rank = 0, .size = 2})
          .status()));
}

TEST(LocalCommunicator, OneProcessIsARank) {
  const std::string rendezvous = new_rendezvous();
  std::thread first([&] {
    EXPECT_TRUE(make_local_communicator({.rendezvous = rendezvous,
                                         .rank = 0,
                                         .size = 2,
                                         .deadline = soon(kLong)})
                    .ok());
  });
  const int silent = call(rendezvous, 0, "");
  // While rank 0 waits, a second rank 0 is refused.
  const auto second = make_local_communicator({.rendezvous = rendezvous,
                                               .rank = 0,
                                               .size = 2,
                                               .deadline = soon(kLong)});
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("another process is rank 0 of this job already"));
  EXPECT_TRUE(make_local_communicator({.rendezvous = rendezvous,
                                       .rank = 1,
                                       .size = 2,
                                       .deadline = soon(kLong)})
                  .ok());
  first.join();
  ::close(silent);
}

TEST(LocalCommunicator, RefusesCallersThatIntroduceThemselvesStrangely) {
  const std::string rendezvous = new_rendezvous();
  std::thread stranger(
      [&] { ::close(call(rendezvous, 0, std::string(16, 'x'))); });
  const auto wires = make_local_communicator({.rendezvous = rendezvous,
                                              .rank = 0,
                                              .size = 2,
                                              .deadline = soon(kLong)});
  stranger.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(wires.status())) << wires.status();
  EXPECT_THAT(std::string(wires.status().message()),
              HasSubstr("same version of horovodpp"));
}

// Rank 0 only sees the connection end. If a rank dies while it connects, it
// counts as missing.
TEST(LocalCommunicator, IgnoresSilentCallers) {
  const std::string rendezvous = new_rendezvous();
  std::thread stranger([&] { ::close(call(rendezvous, 0, "hvd")); });
  const auto wires = make_local_communicator(
      {.rendezvous = rendezvous,
       .rank = 0,
       .size = 2,
       .deadline = soon(std::chrono::milliseconds(200))});
  stranger.join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(wires.status())) << wires.status();
}

TEST(LocalCommunicator, IsNotInheritedByAForkedChild) {
  const std::string rendezvous = new_rendezvous();
  ASSERT_TRUE(make_local_communicator(
                  {.rendezvous = rendezvous, .deadline = soon(kLong)})
                  .ok());
  ChildProcess child([&] {
    const auto wires = make_local_communicator(
        {.rendezvous = rendezvous, .deadline = soon(kLong)});
    return absl::IsFailedPrecondition(wires.status()) ? 7 : 1;
  });
  EXPECT_EQ(child.exit_code(), 7);
}

// Rank 1 is a separate process.
class WithAChild : public ::testing::Test {
 protected:
  // `body` runs in the child with its wires.
  void start(const std::function<void(Communicator&)>& body) {
    child_ = std::make_unique<ChildProcess>([&] {
      const auto wires = make_local_communicator({.rendezvous = rendezvous_,
                                                  .rank = 1,
                                                  .size = 2,
                                                  .deadline = soon(kLong)});
      if (!wires.ok()) return 1;
      body(**wires);
      return 0;
    });
    auto wires = make_local_communicator({.rendezvous = rendezvous_,
                                          .rank = 0,
                                          .size = 2,
                                          .deadline = soon(kLong)});
    ASSERT_TRUE(wires.ok()) << wires.status();
    wires_ = *std::move(wires);
  }

  const std::string rendezvous_ = new_rendezvous();
  std::unique_ptr<ChildProcess> child_;
  std::unique_ptr<Communicator> wires_;
};

[[noreturn]] void wait_for_ever() {
  while (true) ::pause();
}

TEST_F(WithAChild, ADeathIsSeen) {
  ASSERT_NO_FATAL_FAILURE(start([](Communicator&) { wait_for_ever(); }));
  EXPECT_EQ(wires_->peers()[1].pid, child_->pid());
  Promise<int> lost;
  auto told = lost.future();
  wires_->on_peer_lost([&](int rank, const std::string&) { lost.set(rank); });
  child_->kill(SIGKILL);
  EXPECT_EQ(told.wait().value(), 1);
  wires_->on_peer_lost({});
  EXPECT_EQ(wires_->caveat(), "");
}

TEST_F(WithAChild, ADeathEndsAnExchange) {
  ASSERT_NO_FATAL_FAILURE(start([](Communicator&) { wait_for_ever(); }));
  child_->kill(SIGKILL);
  const auto all = wires_->exchange("mine", soon(kLong));
  EXPECT_TRUE(absl::IsAborted(all.status())) << all.status();
  EXPECT_THAT(std::string(all.status().message()),
              AllOf(HasSubstr("rank 1"), HasSubstr("pid")));
}

TEST_F(WithAChild, MessagesOfALeavingRankArrive) {
  const auto leaves_something = [](Communicator& wires) {
    const std::string text(100, 'd');
    static_cast<void>(wires.send_mail(0, "mail"));
    static_cast<void>(wires.post_send(
        0, {.epoch = 1}, std::as_bytes(std::span(text.data(), text.size()))));
  };
  ASSERT_NO_FATAL_FAILURE(start(leaves_something));
  EXPECT_EQ(child_->exit_code(), 0);
  std::optional<Mail> mail;
  while (!mail.has_value()) mail = wires_->receive_mail().value();
  EXPECT_EQ(mail->bytes, "mail");
  std::string text(100, '?');
  const auto id = wires_->post_receive(1, {.epoch = 1},
                                       std::as_writable_bytes(std::span(text)));
  while (!wires_->test(*id).value()) {
  }
  EXPECT_EQ(text, std::string(100, 'd'));
}

TEST_F(WithAChild, MessagesToARankThatLeftAreDropped) {
  ASSERT_NO_FATAL_FAILURE(start([](Communicator&) {}));
  EXPECT_EQ(child_->exit_code(), 0);
  const std::string much(8 << 20, 'x');
  EXPECT_TRUE(wires_->send_mail(1, much).ok());
  while (!wires_->mail_is_flushed().value()) {
  }
  EXPECT_TRUE(wires_->send_mail(1, much).ok());
  EXPECT_TRUE(wires_->mail_is_flushed().value());
  std::string text(8, '?');
  const auto id = wires_->post_receive(1, {.epoch = 1},
                                       std::as_writable_bytes(std::span(text)));
  EXPECT_FALSE(wires_->test(*id).value());
  EXPECT_TRUE(wires_->abandon(*id));
  EXPECT_TRUE(absl::IsInvalidArgument(wires_->test(*id).status()));
}

}  // namespace
}  // namespace hvd::transport
