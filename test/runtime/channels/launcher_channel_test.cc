// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/channels/launcher_channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace hvd::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using Kind = RankStatus::Kind;

// Stands in for the launcher.
class Listener {
 public:
  Listener() : name_(absl::StrCat("launcher_channel_test.", ::getpid())) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::copy(name_.begin(), name_.end(), address.sun_path + 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                             1 + name_.size());
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), size),
              0);
  }
  ~Listener() { ::close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::string& name() const { return name_; }

  // The next message.
  std::string text() {
    std::string bytes(kMaxRankStatusBytes, '\0');
    const ssize_t size = ::recv(fd_, bytes.data(), bytes.size(), 0);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return bytes;
  }

  // All messages received so far.
  std::vector<RankStatus> heard() {
    std::vector<RankStatus> all;
    std::string bytes(kMaxRankStatusBytes, '\0');
    ssize_t size;
    while ((size = ::recv(fd_, bytes.data(), bytes.size(), 0)) >= 0) {
      const auto status =
          parse_rank_status({bytes.data(), static_cast<std::size_t>(size)});
      EXPECT_TRUE(status.has_value()) << bytes;
      if (status) all.push_back(*status);
    }
    return all;
  }

 private:
  const int fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  const std::string name_;
};

TEST(LauncherChannel, SendsEventsWithTheirRank) {
  Listener listener;
  const LauncherChannel channel(listener.name());
  channel.joining();
  channel.connected();
  channel.broken(
      with_failure_kind(absl::AbortedError("rank 2 (host 'b', pid 9) ended"),
                        FailureKind::kSilentNode));
  channel.reforming(1500us);
  channel.reformed({0, 2});
  channel.peer_left_early(
      absl::CancelledError("rank 1 (host 'a', pid 8) shut down"));
  const std::vector<RankStatus> heard = listener.heard();
  ASSERT_THAT(heard, SizeIs(6));
  const Kind kinds[] = {Kind::kJoining,  Kind::kConnected,
                        Kind::kBroken,   Kind::kReforming,
                        Kind::kReformed, Kind::kPeerLeftEarly};
  for (std::size_t i = 0; i < heard.size(); ++i) {
    EXPECT_EQ(heard[i].kind, kinds[i]);
    EXPECT_EQ(heard[i].pid, ::getpid());
    EXPECT_NE(heard[i].host, "");
  }
  EXPECT_EQ(heard[2].reason, "rank 2 (host 'b', pid 9) ended");
  EXPECT_THAT(heard[2].culprits, ElementsAre(RankStatus::Named{2, "b", 9}));
  EXPECT_EQ(heard[2].failure, FailureKind::kSilentNode);
  EXPECT_EQ(heard[3].timeout, 2ms);
  EXPECT_THAT(heard[4].lost, ElementsAre(0, 2));
  EXPECT_THAT(heard[5].culprits, ElementsAre(RankStatus::Named{1, "a", 8}));
}

TEST(LauncherChannel, SendsProgress) {
  Listener listener;
  const RankProgress progress = {.collectives = 3, .last = "a"};
  LauncherChannel(listener.name()).progress(progress);
  EXPECT_EQ(parse_rank_progress(listener.text()), progress);
}

TEST(LauncherChannel, AcceptsAMissingListener) {
  LauncherChannel("").joining();
  LauncherChannel("launcher_channel_test.nobody").joining();
  LauncherChannel(std::string(1000, 'x')).joining();
}

TEST(LauncherChannel, DoesNotWaitForALauncherThatDoesNotRead) {
  Listener listener;
  const LauncherChannel channel(listener.name());
  for (int i = 0; i < 100'000; ++i) channel.joining();
  EXPECT_THAT(listener.heard(), testing::Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace hvd::runtime
