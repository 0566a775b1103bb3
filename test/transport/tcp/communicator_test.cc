// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/core/thread/promise.h"
#include "horovodpp/transport/tcp/meeting_file.h"
#include "test/transport/child_process.h"
#include "test/transport/communicator_suite.h"
#include "test/transport/tcp/running_server.h"

namespace hvd::transport {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::seconds kAmple(60);

std::chrono::steady_clock::time_point within(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

TcpOptions rank_of(const RunningServer& server, int rank, int size) {
  return {.server = server.endpoints(),
          .rank_0_serves = false,
          .key = server.key(),
          .rank = rank,
          .size = size,
          .deadline = within(kAmple)};
}

JobKind tcp_threads(int size, int ranks_per_node = 0) {
  return {.name = "Tcp" + std::to_string(size) +
                  (ranks_per_node > 0
                       ? "Of" + std::to_string(ranks_per_node) + "PerNode"
                       : ""),
          .run = [=](const std::function<void(Communicator&)>& body) {
            const RunningServer server(size);
            std::vector<std::thread> ranks;
            for (int rank = 0; rank < size; ++rank) {
              ranks.emplace_back([&, rank] {
                TcpOptions options = rank_of(server, rank, size);
                options.ranks_per_node = ranks_per_node;
                const auto wires = make_tcp_communicator(options);
                ASSERT_TRUE(wires.ok()) << wires.status();
                body(**wires);
              });
            }
            for (std::thread& rank : ranks) rank.join();
          }};
}

INSTANTIATE_TEST_SUITE_P(Tcp, CommunicatorSuite,
                         ::testing::Values(tcp_threads(1), tcp_threads(2),
                                           tcp_threads(3), tcp_threads(4),
                                           tcp_threads(4, 2),
                                           tcp_threads(3, 1)),
                         [](const auto& kind) { return kind.param.name; });

// The ranks' results, by rank.
std::vector<absl::Status> meet(const std::vector<TcpOptions>& all) {
  std::vector<absl::Status> results(all.size());
  std::vector<std::thread> ranks;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ranks.emplace_back(
        [&, i] { results[i] = make_tcp_communicator(all[i]).status(); });
  }
  for (std::thread& rank : ranks) rank.join();
  return results;
}

// A port that was free a moment ago.
std::string free_server() {
  const auto listener = listen_at({});
  return absl::StrCat("localhost:", listener->endpoints.front().port);
}

TEST(TcpCommunicator, MeetsAtRankZeroAgainAndAgain) {
  const std::string server = free_server();
  std::vector<TcpOptions> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.push_back({.server = server,
                     .key = std::string(64, 'a'),
                     .rank = rank,
                     .size = 3,
                     .deadline = within(kAmple)});
  }
  for (int round = 0; round < 3; ++round) {
    for (const absl::Status& result : meet(ranks)) {
      EXPECT_TRUE(result.ok()) << round << ": " << result;
    }
  }
}

class MeetingFileTest : public testing::Test {
 protected:
  MeetingFileTest()
      : path_(testing::TempDir() + "/meeting_file_test." +
              std::to_string(getpid())) {
    unlink(path_.c_str());
  }
  ~MeetingFileTest() override { unlink(path_.c_str()); }

  std::vector<TcpOptions> ranks(int size, std::chrono::milliseconds time) {
    std::vector<TcpOptions> all;
    for (int rank = 0; rank < size; ++rank) {
      all.push_back({.file = path_,
                     .rank = rank,
                     .size = size,
                     .deadline = within(time)});
    }
    return all;
  }

  const std::string path_;
};

TEST_F(MeetingFileTest, LetsRanksMeetAgainAndAgain) {
  for (int round = 0; round < 3; ++round) {
    for (const absl::Status& result : meet(ranks(3, kAmple))) {
      EXPECT_TRUE(result.ok()) << round << ": " << result;
    }
    EXPECT_NE(access(path_.c_str(), F_OK), 0) << "the file is left";
  }
}

TEST_F(MeetingFileTest, IsReadAgainWhenItsServerIsGone) {
  const auto old =
      MeetingFile::write(path_, JobKey::random().value(), "127.0.0.1:9");
  ASSERT_TRUE(old.ok()) << old.status();
  for (const absl::Status& result : meet(ranks(2, kAmple))) {
    EXPECT_TRUE(result.ok()) << result;
  }
}

TEST_F(MeetingFileTest, IsReadAgainWhenItsServerIsAnotherJobs) {
  const RunningServer other(2);
  const auto old =
      MeetingFile::write(path_, JobKey::random().value(), other.endpoints());
  ASSERT_TRUE(old.ok()) << old.status();
  for (const absl::Status& result : meet(ranks(2, kAmple))) {
    EXPECT_TRUE(result.ok()) << result;
  }
}

TEST_F(MeetingFileTest, IsRefusedIfOthersMayReadIt) {
  const auto file = MeetingFile::write(path_, JobKey::random().value(), "");
  ASSERT_TRUE(file.ok()) << file.status();
  chmod(path_.c_str(), 0644);
  const auto results = meet({ranks(2, kAmple)[1]});
  EXPECT_TRUE(absl::IsPermissionDenied(results[0])) << results[0];
  EXPECT_THAT(std::string(results[0].message()), HasSubstr(path_));
}

TEST_F(MeetingFileTest, IsNamedWhenNobodyWritesIt) {
  const auto results = meet({ranks(2, std::chrono::milliseconds(200))[1]});
  EXPECT_TRUE(absl::IsDeadlineExceeded(results[0])) << results[0];
  EXPECT_THAT(
      std::string(results[0].message()),
      AllOf(HasSubstr("rank 0 did not come in time"), HasSubstr(path_)));
}

TEST_F(MeetingFileTest, NamesAFolderThatDoesNotExist) {
  auto options = ranks(2, kAmple);
  options[0].file = "/no/such/folder/meeting";
  const auto results = meet({options[0]});
  EXPECT_FALSE(results[0].ok());
  EXPECT_THAT(
      std::string(results[0].message()),
      HasSubstr("cannot make the meeting file /no/such/folder/meeting"));
}

TEST(TcpCommunicator, NamesAPortThatAnotherProgramHas) {
  const auto taken = listen_at({});
  const std::string port = std::to_string(taken->endpoints.front().port);
  const auto results = meet({{.server = "localhost:" + port,
                              .key = std::string(64, 'a'),
                              .size = 2,
                              .deadline = within(kAmple)}});
  EXPECT_THAT(std::string(results[0].message()),
              AllOf(HasSubstr("TCP port " + port), HasSubstr("in use")));
}

TEST(TcpCommunicator, NamesAnUnknownHost) {
  const auto results =
      meet({{.server = "no-such-host.invalid:4711",
             .key = std::string(64, 'a'),
             .rank = 1,
             .size = 2,
             .deadline = within(std::chrono::milliseconds(300))}});
  EXPECT_TRUE(absl::IsDeadlineExceeded(results[0])) << results[0];
  EXPECT_THAT(std::string(results[0].message()),
              HasSubstr("no-such-host.invalid"));
}

TEST(TcpCommunicator, NamesMissingRanks) {
  const RunningServer server(4);
  TcpOptions options = rank_of(server, 2, 4);
  options.deadline = within(std::chrono::milliseconds(200));
  const auto results = meet({options});
  EXPECT_TRUE(absl::IsDeadlineExceeded(results[0])) << results[0];
  EXPECT_THAT(std::string(results[0].message()),
              HasSubstr("only 1 of 4 ranks came in time; missing: rank 0, rank "
                        "1, rank 3"));
}

TEST(TcpCommunicator, NamesTheServerThatDoesNotAnswer) {
  RunningServer server(2);
  TcpOptions options = rank_of(server, 0, 2);
  server.end();
  options.deadline = within(std::chrono::milliseconds(200));
  const auto results = meet({options});
  EXPECT_TRUE(absl::IsDeadlineExceeded(results[0])) << results[0];
  EXPECT_THAT(std::string(results[0].message()),
              AllOf(HasSubstr("the meeting server could not be reached at "),
                    HasSubstr("refused")));
}

TEST(TcpCommunicator, RefusesAnotherKeyWithoutQuotingOne) {
  const RunningServer server(2);
  TcpOptions options = rank_of(server, 0, 2);
  options.key = JobKey::random()->to_hex();
  // The server drops a caller without the key. Either end notices first.
  options.deadline = within(std::chrono::milliseconds(500));
  const auto results = meet({options});
  EXPECT_FALSE(results[0].ok());
  EXPECT_THAT(std::string(results[0].message()),
              AllOf(Not(HasSubstr(options.key)), Not(HasSubstr(server.key()))));
}

TEST(TcpCommunicator, RefusesAJobOfAnotherSize) {
  const RunningServer server(2);
  const auto results = meet({rank_of(server, 0, 3)});
  EXPECT_TRUE(absl::IsFailedPrecondition(results[0])) << results[0];
  EXPECT_THAT(std::string(results[0].message()),
              HasSubstr("expects a job of 3 ranks, which has 2"));
}

TEST(TcpCommunicator, RefusesASecondProcessOfARank) {
  const RunningServer server(3);
  const auto message_to = [&](int rank, std::chrono::milliseconds time) {
    TcpOptions options = rank_of(server, rank, 3);
    options.deadline = within(time);
    return std::string(make_tcp_communicator(options).status().message());
  };
  std::thread first([&] {
    const auto wires = make_tcp_communicator(rank_of(server, 0, 3));
    EXPECT_TRUE(wires.ok()) << wires.status();
  });
  // Until rank 0 is there.
  while (
      message_to(2, std::chrono::milliseconds(300)).find("missing: rank 1") ==
      std::string::npos) {
  }
  EXPECT_THAT(message_to(0, kAmple), HasSubstr("another process is rank 0"));
  const auto others = meet({rank_of(server, 1, 3), rank_of(server, 2, 3)});
  EXPECT_TRUE(others[0].ok()) << others[0];
  EXPECT_TRUE(others[1].ok()) << others[1];
  first.join();
}

TEST(TcpCommunicator, RefusesMalformedOptions) {
  const RunningServer server(2);
  TcpOptions no_key = rank_of(server, 0, 2);
  no_key.key = "secret";
  TcpOptions no_server = rank_of(server, 0, 2);
  no_server.server = "somewhere";
  TcpOptions no_rank = rank_of(server, 2, 2);
  TcpOptions no_interface = rank_of(server, 0, 2);
  no_interface.interfaces = {"no-such-interface"};
  const auto results = meet({no_key, no_server, no_rank, no_interface});
  EXPECT_TRUE(absl::IsInvalidArgument(results[0]));
  EXPECT_THAT(std::string(results[0].message()), Not(HasSubstr("secret")));
  EXPECT_TRUE(absl::IsInvalidArgument(results[1]));
  EXPECT_TRUE(absl::IsInvalidArgument(results[2]));
  EXPECT_TRUE(absl::IsNotFound(results[3]));
  EXPECT_THAT(std::string(results[3].message()),
              AllOf(HasSubstr("no-such-interface"),
                    HasSubstr("interfaces with addresses: ")));
}

// Sends `bytes` to the server, as a stranger; returns the open connection.
OwnedDescriptor stranger(const RunningServer& server,
                         const std::string& bytes) {
  const auto endpoints = parse_endpoints(server.endpoints());
  OwnedDescriptor socket = begin_to_connect(endpoints->front()).value();
  while (!bytes.empty() && ::send(socket.number(), bytes.data(), bytes.size(),
                                  MSG_NOSIGNAL) < 0) {
    std::this_thread::yield();  // Not connected yet.
  }
  return socket;
}

TEST(TcpCommunicator, MeetsAmongStrangers) {
  const RunningServer server(2);
  std::vector<OwnedDescriptor> strangers;
  for (const std::size_t bytes : {0, 1, 51, 52, 84, 1000}) {
    strangers.push_back(stranger(server, std::string(bytes, 'x')));
  }
  const auto results = meet({rank_of(server, 0, 2), rank_of(server, 1, 2)});
  EXPECT_TRUE(results[0].ok()) << results[0];
  EXPECT_TRUE(results[1].ok()) << results[1];
}

// Rank 1 is a separate process, and on another node by name.
class TcpWithAChild : public ::testing::Test {
 protected:
  void start(const std::function<void(Communicator&)>& body) {
    const JobKey key = JobKey::random().value();
    auto server = MeetingServer::start({.key = key, .size = 2});
    ASSERT_TRUE(server.ok()) << server.status();
    TcpOptions options = {.server = (*server)->endpoints(),
                          .rank_0_serves = false,
                          .key = key.to_hex(),
                          .size = 2,
                          .ranks_per_node = 1,
                          .deadline = within(kAmple)};
    serving_ = std::make_unique<ChildProcess>([&] {
      while (true) {
        pollfd awaited = {(*server)->descriptor(), POLLIN, 0};
        ::poll(&awaited, 1, -1);
        (*server)->proceed();
      }
      return 0;
    });
    server->reset();
    child_ = std::make_unique<ChildProcess>([&] {
      options.rank = 1;
      const auto wires = make_tcp_communicator(options);
      if (!wires.ok()) return 1;
      body(**wires);
      return 0;
    });
    auto wires = make_tcp_communicator(options);
    ASSERT_TRUE(wires.ok()) << wires.status();
    wires_ = *std::move(wires);
  }

  std::unique_ptr<ChildProcess> serving_;
  std::unique_ptr<ChildProcess> child_;
  std::unique_ptr<Communicator> wires_;
};

[[noreturn]] void pause_for_ever() {
  while (true) ::pause();
}

TEST_F(TcpWithAChild, ReportsADeathByTheEndOfTheConnection) {
  ASSERT_NO_FATAL_FAILURE(start([](Communicator&) { pause_for_ever(); }));
  EXPECT_EQ(wires_->peers()[1].pid, child_->pid());
  Promise<std::string> lost;
  auto told = lost.future();
  wires_->on_peer_lost([&](int rank, const std::string& how) {
    EXPECT_EQ(rank, 1);
    lost.set(how);
  });
  child_->kill(SIGKILL);
  EXPECT_THAT(told.wait().value(), HasSubstr("its connection"));
  wires_->on_peer_lost({});

  // A later callback hears of it at once.
  Promise<int> again;
  auto told_again = again.future();
  wires_->on_peer_lost([&](int rank, const std::string&) { again.set(rank); });
  EXPECT_EQ(told_again.wait().value(), 1);
  wires_->on_peer_lost({});
}

TEST_F(TcpWithAChild, EndsAnExchangeWithADeadRank) {
  ASSERT_NO_FATAL_FAILURE(start([](Communicator&) { pause_for_ever(); }));
  child_->kill(SIGKILL);
  const auto all = wires_->exchange("mine", within(kAmple));
  EXPECT_TRUE(absl::IsAborted(all.status())) << all.status();
  EXPECT_THAT(std::string(all.status().message()), HasSubstr("rank 1"));
}

TEST_F(TcpWithAChild, HearsHeartbeats) {
  ASSERT_NO_FATAL_FAILURE(start([](Communicator& wires) {
    while (true) {
      wires.send_beat(0);
      ::usleep(1000);
    }
  }));
  std::vector<int> beats;
  const auto until = within(kAmple);
  while (beats.empty() && std::chrono::steady_clock::now() < until) {
    beats = wires_->receive_beats();
  }
  EXPECT_THAT(beats, ::testing::Contains(1));
}

}  // namespace
}  // namespace hvd::transport
