// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/loopback/loopback.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "horovodpp/core/job/topology.h"
#include "horovodpp/core/thread/promise.h"
#include "test/transport/communicator_suite.h"
#include "test/transport/routed_world.h"

namespace hvd::transport {
namespace {

JobKind threads(int size, int ranks_per_node = 0) {
  return {.name = "Loopback" + std::to_string(size) +
                  (ranks_per_node > 0
                       ? "Of" + std::to_string(ranks_per_node) + "PerNode"
                       : ""),
          .run = [=](const std::function<void(Communicator&)>& body) {
            LoopbackWorld world(size, {.ranks_per_node = ranks_per_node});
            std::vector<std::thread> ranks;
            for (int rank = 0; rank < size; ++rank) {
              ranks.emplace_back([&, rank] {
                const auto communicator = world.communicator(rank);
                body(*communicator);
              });
            }
            for (std::thread& rank : ranks) rank.join();
          }};
}

const JobKind kSolo = {
    .name = "Solo", .run = [](const std::function<void(Communicator&)>& body) {
      body(*make_solo_communicator());
    }};

INSTANTIATE_TEST_SUITE_P(Loopback, CommunicatorSuite,
                         ::testing::Values(threads(1), threads(2), threads(3),
                                           threads(4), threads(4, 2), kSolo),
                         [](const auto& kind) { return kind.param.name; });

// Every job is the next epoch of one world.
JobKind epochs(const std::string& name, int size, const Members& members) {
  auto world = std::make_shared<RoutedWorld>(size);
  return {.name = name,
          .run = [=](const std::function<void(Communicator&)>& body) {
            ++world->epoch;
            std::vector<std::thread> ranks;
            for (int rank : members) {
              ranks.emplace_back([&, rank] {
                body(*subset(world->router(rank), members, world->epoch));
              });
            }
            for (std::thread& rank : ranks) rank.join();
          }};
}

// Ranks 1 and 2 of the subset {0, 2, 3} of a world.
const JobKind kNested = {
    .name = "Nested",
    .run = [](const std::function<void(Communicator&)>& body) {
      RoutedWorld world(4);
      std::vector<std::thread> ranks;
      for (int rank : {2, 3}) {
        ranks.emplace_back([&, rank] {
          const auto board =
              router_over(subset(world.router(rank), {0, 2, 3}, 2));
          body(*subset(board, {1, 2}, 2));
        });
      }
      for (std::thread& rank : ranks) rank.join();
    }};

INSTANTIATE_TEST_SUITE_P(
    Subset, CommunicatorSuite,
    ::testing::Values(epochs("All", 3, {0, 1, 2}), epochs("Some", 5, {0, 2, 3}),
                      epochs("WithoutTheFirst", 4, {1, 2, 3}),
                      epochs("One", 3, {2}), kNested),
    [](const auto& kind) { return kind.param.name; });

std::chrono::steady_clock::time_point in(std::chrono::milliseconds timeout) {
  return std::chrono::steady_clock::now() + timeout;
}

TEST(LoopbackWorld, HandsOutEachRankOnce) {
  LoopbackWorld world(2);
  EXPECT_NE(world.communicator(1), nullptr);
  EXPECT_EQ(world.communicator(1), nullptr);
  EXPECT_EQ(world.communicator(2), nullptr);
  EXPECT_EQ(world.communicator(-1), nullptr);
}

TEST(LoopbackWorld, GroupsRanksIntoNodes) {
  LoopbackWorld world(5, {.ranks_per_node = 2});
  const auto communicator = world.communicator(4);
  const auto topology = Topology::from_peers(4, communicator->peers());
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->node_count(), 3);
  EXPECT_EQ(topology->local_size(), 1);
  EXPECT_FALSE(topology->is_homogeneous());
}

TEST(LoopbackWorld, AnExchangeWithoutARankNamesItWhenTheTimeIsOver) {
  LoopbackWorld world(3);
  const auto rank0 = world.communicator(0);
  const auto rank1 = world.communicator(1);
  std::thread other([&] {
    EXPECT_TRUE(absl::IsDeadlineExceeded(
        rank1->exchange("", in(std::chrono::milliseconds(100))).status()));
  });
  const auto all = rank0->exchange("", in(std::chrono::milliseconds(100)));
  other.join();
  ASSERT_TRUE(absl::IsDeadlineExceeded(all.status())) << all.status();
  EXPECT_NE(all.status().message().find("rank 2"), std::string::npos)
      << all.status();
}

TEST(LoopbackWorld, AnExchangeEndsAtOnceIfARankIsDead) {
  LoopbackWorld world(3);
  const auto rank0 = world.communicator(0);
  const auto rank1 = world.communicator(1);
  const auto named = [](const absl::Status& status) {
    return absl::IsAborted(status) &&
           status.message().find("rank 2") != absl::string_view::npos;
  };
  // Before the exchange, and during an exchange.
  std::thread waits([&] {
    EXPECT_TRUE(named(rank0->exchange("", in(std::chrono::hours(1))).status()));
  });
  world.kill(2);
  waits.join();
  EXPECT_TRUE(named(rank1->exchange("", in(std::chrono::hours(1))).status()));
}

TEST(LoopbackWorld, ReportsADeathToEveryPeerOnce) {
  LoopbackWorld world(3);
  const auto rank0 = world.communicator(0);
  const auto rank1 = world.communicator(1);
  const auto rank2 = world.communicator(2);
  std::atomic<int> calls = 0;
  Promise<std::string> early;
  rank0->on_peer_lost([&](int rank, const std::string& how) {
    EXPECT_EQ(rank, 2);
    ++calls;
    early.set(how);
  });
  world.kill(2, "was killed");
  world.kill(2, "was killed again");
  EXPECT_EQ(*early.future().wait(), "was killed");
  // A late callback is called at once.
  Promise<int> late;
  rank1->on_peer_lost([&](int rank, const std::string&) { late.set(rank); });
  EXPECT_EQ(*late.future().wait(), 2);
  rank0->on_peer_lost({});
  rank1->on_peer_lost({});
  EXPECT_EQ(calls.load(), 1);
}

TEST(LoopbackWorld, ACallbackMaySendMail) {
  LoopbackWorld world(3);
  const auto rank0 = world.communicator(0);
  const auto rank1 = world.communicator(1);
  Promise<void> notified;
  rank0->on_peer_lost([&](int, const std::string&) {
    world.kill(1);
    notified.set(rank0->send_mail(0, "lost"));
  });
  world.kill(2);
  EXPECT_TRUE(notified.future().wait().ok());
  rank0->on_peer_lost({});
  EXPECT_EQ((*rank0->receive_mail())->bytes, "lost");
}

TEST(LoopbackWorld, DropsMessagesOfDeadRanks) {
  LoopbackWorld world(2);
  const auto rank0 = world.communicator(0);
  const auto rank1 = world.communicator(1);
  const std::string text = "late";
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  std::string got(4, '?');
  ASSERT_TRUE(rank1->send_mail(0, "in time").ok());
  const auto before = rank1->post_send(0, {.epoch = 1}, bytes);
  world.kill(1);
  const auto after = rank1->post_send(0, {.epoch = 1}, bytes);
  ASSERT_TRUE(rank1->send_mail(0, text).ok());
  const auto receive = rank0->post_receive(
      1, {.epoch = 1}, std::as_writable_bytes(std::span(got.data(), 4)));
  EXPECT_FALSE(*rank0->test(*receive));
  EXPECT_FALSE(*rank1->test(*before));
  EXPECT_FALSE(*rank1->test(*after));
  EXPECT_EQ((*rank0->receive_mail())->bytes, "in time");
  EXPECT_FALSE(rank0->receive_mail()->has_value());
  EXPECT_EQ(got, "????");
}

TEST(LoopbackWorld, ForgetsTheTransfersOfACommunicatorThatIsGone) {
  LoopbackWorld world(2);
  const auto rank0 = world.communicator(0);
  std::string got(4, '?');
  {
    const auto rank1 = world.communicator(1);
    const std::string text = "gone";
    ASSERT_TRUE(
        rank1->post_send(0, {}, std::as_bytes(std::span(text.data(), 4))).ok());
  }
  const auto receive = rank0->post_receive(
      1, {}, std::as_writable_bytes(std::span(got.data(), 4)));
  EXPECT_FALSE(*rank0->test(*receive));
}

TEST(SoloCommunicator, IsAJobOfOne) {
  const auto solo = make_solo_communicator();
  EXPECT_EQ(solo->rank(), 0);
  EXPECT_EQ(solo->size(), 1);
}

}  // namespace
}  // namespace hvd::transport
