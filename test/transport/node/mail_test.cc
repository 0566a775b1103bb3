// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/node/mail.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/transport/loopback/loopback.h"

namespace hvd::transport {
namespace {

// The segments and mail of a node's ranks, all held by one thread.
class Node {
 public:
  explicit Node(int ranks, NodeMail::Pairs pairs = NodeMail::Pairs::kOfLeader)
      : world_(ranks) {
    communicators_.resize(static_cast<std::size_t>(ranks));
    segments_.resize(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([this, rank, ranks, pairs] {
        const auto i = static_cast<std::size_t>(rank);
        communicators_[i] = world_.communicator(rank);
        const auto topology =
            Topology::from_peers(rank, communicators_[i]->peers());
        auto segment = NodeSegment::open(
            *communicators_[i], *topology, NodeMail::bytes_needed(ranks, pairs),
            std::chrono::steady_clock::now() + std::chrono::seconds(30));
        ASSERT_EQ(segment.status(), absl::OkStatus());
        segments_[i] = *std::move(segment);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (auto& segment : segments_) {
      mail_.push_back(
          std::make_unique<NodeMail>(*segment, segment->payload(), pairs));
    }
  }
  NodeMail& operator[](int rank) {
    return *mail_[static_cast<std::size_t>(rank)];
  }
  NodeSegment& segment(int rank) {
    return *segments_[static_cast<std::size_t>(rank)];
  }

 private:
  LoopbackWorld world_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<std::unique_ptr<NodeSegment>> segments_;
  std::vector<std::unique_ptr<NodeMail>> mail_;
};

TEST(NodeMail, ConnectsTheLeaderAndTheOthers) {
  Node node(3);
  EXPECT_TRUE(node[0].reaches(2));
  EXPECT_TRUE(node[2].reaches(0));
  EXPECT_FALSE(node[1].reaches(2));
  EXPECT_FALSE(node[0].reaches(0));
  node[2].send(0, "from two");
  node[0].send(1, "to one");
  node[0].send(1, "");
  const auto at_leader = node[0].receive();
  ASSERT_TRUE(at_leader.has_value());
  EXPECT_EQ(at_leader->from, 2);
  EXPECT_EQ(at_leader->bytes, "from two");
  EXPECT_FALSE(node[0].receive().has_value());
  EXPECT_EQ(node[1].receive()->bytes, "to one");
  EXPECT_EQ(node[1].receive()->bytes, "");
  EXPECT_FALSE(node[1].receive().has_value());
  EXPECT_FALSE(node[2].receive().has_value());
}

TEST(NodeMail, ConnectsAllPairs) {
  for (const int ranks : {2, 5, 9}) {
    Node node(ranks, NodeMail::Pairs::kAll);
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_FALSE(node[rank].receive().has_value());
    }
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        EXPECT_EQ(node[from].reaches(to), from != to);
        if (from == to) continue;
        node[from].send(to, std::to_string(from));
        node[from].send(to, std::string(1000, 'x'));
      }
    }
    for (int to = 0; to < ranks; ++to) {
      for (int i = 0; i < 2 * (ranks - 1); ++i) {
        const auto letter = node[to].receive();
        ASSERT_TRUE(letter.has_value());
        const bool is_first = letter->bytes == std::to_string(letter->from);
        EXPECT_TRUE(is_first || letter->bytes == std::string(1000, 'x'));
      }
      EXPECT_FALSE(node[to].receive().has_value());
    }
  }
}

// A part of a message does not hide the next one.
TEST(NodeMail, LargeMessagesOfAllPairsComeInParts) {
  Node node(3, NodeMail::Pairs::kAll);
  const std::string large(100000, 'x');
  node[1].send(2, large);
  node[0].send(2, "small");
  std::vector<std::string> received;
  while (received.size() < 2) {
    node[1].flush();
    while (auto letter = node[2].receive()) received.push_back(letter->bytes);
  }
  EXPECT_EQ(received[0], "small");
  EXPECT_EQ(received[1], large);
}

TEST(NodeMail, AMessageLargerThanTheRingComesInParts) {
  Node node(2);
  std::string large(1 << 20, 'x');
  large.back() = 'y';
  node[1].send(0, large);
  node[1].send(0, "next");
  EXPECT_TRUE(node[1].has_unwritten());
  std::optional<NodeLetter> letter;
  while (!letter) {
    node[1].flush();
    letter = node[0].receive();
  }
  EXPECT_EQ(letter->bytes, large);
  EXPECT_TRUE(node[1].flush());
  EXPECT_EQ(node[0].receive()->bytes, "next");
}

TEST(NodeMail, RingsTheWriterOnceTheRingHasRoom) {
  Node node(2);
  const auto has_rung_since = [&](std::uint32_t ticket) {
    return node.segment(1).doorbell(1).has_rung_since(ticket);
  };
  Doorbell& bell = node.segment(1).doorbell(1);
  const std::uint32_t ticket = bell.listen(Doorbell::Listener::kDriver);
  node[1].send(0, "small");
  EXPECT_EQ(node[0].receive()->bytes, "small");
  EXPECT_FALSE(has_rung_since(ticket));
  node[1].send(0, std::string(1 << 20, 'x'));
  EXPECT_FALSE(has_rung_since(ticket));
  EXPECT_FALSE(node[0].receive().has_value());  // Only a part has arrived.
  EXPECT_TRUE(has_rung_since(ticket));
  bell.leave(Doorbell::Listener::kDriver);
}

TEST(NodeMail, PostedMailIsAnnouncedByTheRing) {
  Node node(2);
  Doorbell& bell = node.segment(0).doorbell(0);
  const std::uint32_t ticket = bell.listen(Doorbell::Listener::kDriver);
  node[1].post(0, "first");
  node[1].post(0, "second");
  EXPECT_FALSE(bell.has_rung_since(ticket));
  EXPECT_EQ(node[0].receive()->bytes, "first");
  node[1].ring();
  EXPECT_TRUE(bell.has_rung_since(ticket));
  bell.leave(Doorbell::Listener::kDriver);
  EXPECT_EQ(node[0].receive()->bytes, "second");
}

TEST(NodeMail, ALoneRankHasNoPeers) {
  Node node(1);
  EXPECT_FALSE(node[0].reaches(0));
  EXPECT_FALSE(node[0].receive().has_value());
  EXPECT_TRUE(node[0].flush());
}

TEST(NodeMail, KeepsTheOrderUnderLoadFromSeveralThreads) {
  constexpr int kMessages = 3000;
  Node node(3);
  std::vector<std::thread> senders;
  for (int rank = 1; rank < 3; ++rank) {
    senders.emplace_back([&node, rank] {
      std::mt19937 random(static_cast<unsigned>(rank));
      for (int i = 0; i < kMessages; ++i) {
        node[rank].send(0,
                        std::to_string(i) + std::string(random() % 300, '.'));
      }
      while (!node[rank].flush()) std::this_thread::yield();
    });
  }
  std::vector<int> next(3, 0);
  for (int received = 0; received < 2 * kMessages;) {
    const auto letter = node[0].receive();
    if (!letter) continue;
    ASSERT_EQ(std::stoi(letter->bytes),
              next[static_cast<std::size_t>(letter->from)]++);
    ++received;
  }
  for (std::thread& sender : senders) sender.join();
}

}  // namespace
}  // namespace hvd::transport
