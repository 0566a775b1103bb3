// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/chunk_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "test/collective/fleets.h"

namespace hvd::collective {
namespace {

using ::testing::HasSubstr;

TEST(ChunkLink, GivesUpWithTheErrorOfTheInterrupt) {
  on_loopback(2, [](transport::Communicator& communicator) {
    if (communicator.rank() == 1) return;
    Staging staging(2, 64);
    ASSERT_TRUE(staging.map().ok());
    FailingInterrupt interrupt(10);
    ChunkLink link(communicator, staging, {{1, 1}, interrupt}, test_waiting(2));
    ASSERT_TRUE(link.post_receive(1, 8).ok());
    const auto slot = link.receive();
    EXPECT_EQ(slot.status().message(), "rank 7 was killed by signal 9");
    const auto mine = link.take();
    ASSERT_TRUE(mine.ok());
    ASSERT_TRUE(link.send(1, *mine, 8).ok());
    EXPECT_EQ(link.flush().code(), absl::StatusCode::kUnavailable);
  });
}

// A communicator that accepts every transfer and completes none, and that
// returns the memory of only one abandoned transfer.
class Sink : public transport::Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  const std::vector<Peer>& peers() const override { return peers_; }
  absl::StatusOr<std::vector<std::string>> exchange(
      const std::string&, Clock::time_point) override {
    return std::vector<std::string>();
  }
  absl::Status send_mail(int, std::string) override { return {}; }
  absl::StatusOr<std::optional<transport::Mail>> receive_mail() override {
    return std::nullopt;
  }
  absl::StatusOr<bool> mail_is_flushed() override { return true; }
  absl::StatusOr<transport::TransferId> post_send(
      int, transport::DataTag, std::span<const std::byte>) override {
    return next_++;
  }
  absl::StatusOr<transport::TransferId> post_receive(
      int, transport::DataTag, std::span<std::byte>) override {
    return next_++;
  }
  absl::StatusOr<bool> test(transport::TransferId) override { return false; }
  bool abandon(transport::TransferId id) override { return id == kReturned; }
  void on_peer_lost(LostCallback) override {}

  static constexpr transport::TransferId kReturned = 1;

 private:
  transport::TransferId next_ = 0;
  std::vector<Peer> peers_ = std::vector<Peer>(2);
};

TEST(ChunkLink, RetiresSlotsThatTheWiresKeep) {
  Sink wires;
  Staging staging(4, 64);
  ASSERT_TRUE(staging.map().ok());
  std::vector<std::byte*> before;
  for (int i = 0; i < 4; ++i) before.push_back(staging.slot(i));
  NeverInterrupt interrupt;
  {
    ChunkLink link(wires, staging, {{1, 1}, interrupt}, test_waiting(1));
    ASSERT_TRUE(link.post_receive(1, 8).ok());  // Slot 0: never returned.
    ASSERT_TRUE(link.post_receive(1, 8).ok());  // Slot 1: returned.
    const auto slot = link.take();
    ASSERT_TRUE(slot.ok());
    ASSERT_EQ(*slot, before[2]);
    ASSERT_TRUE(link.send(1, *slot, 8).ok());
  }
  EXPECT_EQ(staging.slot(0), nullptr);
  EXPECT_EQ(staging.slot(1), before[1]);
  EXPECT_EQ(staging.slot(2), nullptr);
  EXPECT_EQ(staging.slot(3), before[3]);
  ASSERT_TRUE(staging.map().ok());
  *before[0] = *before[2] = std::byte{1};  // Still mapped.
  EXPECT_NE(staging.slot(0), before[0]);
}

TEST(ChunkLink, NamesThePeerThatSentAnotherSize) {
  on_loopback(2, [](transport::Communicator& communicator) {
    Staging staging(2, 64);
    ASSERT_TRUE(staging.map().ok());
    NeverInterrupt interrupt;
    ChunkLink link(communicator, staging, {{1, 1}, interrupt}, test_waiting(2));
    if (communicator.rank() == 0) {
      const auto slot = link.take();
      ASSERT_TRUE(slot.ok());
      ASSERT_TRUE(link.send(1, *slot, 8).ok());
      EXPECT_TRUE(link.flush().ok());
      return;
    }
    ASSERT_TRUE(link.post_receive(0, 16).ok());
    const absl::Status status = link.receive().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("receiving from rank 0"));
  });
}

}  // namespace
}  // namespace hvd::collective
