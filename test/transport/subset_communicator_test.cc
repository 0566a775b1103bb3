// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/subset_communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "horovodpp/core/thread/promise.h"
#include "test/transport/routed_world.h"

namespace hvd::transport {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::chrono::steady_clock::time_point exchange_deadline() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

TEST(SubsetCommunicator, NumbersItsMembersInTheOldOrder) {
  RoutedWorld world(4);
  const auto wires = subset(world.router(3), {1, 3}, 2);
  EXPECT_EQ(wires->rank(), 1);
  EXPECT_EQ(wires->size(), 2);
  EXPECT_EQ(wires->peers()[0].node, world.router(3)->wires().peers()[1].node);
  const auto other = subset(world.router(1), {1, 3}, 2);
  ASSERT_TRUE(other->send_mail(1, "mail").ok());
  const auto mail = wires->receive_mail();
  ASSERT_TRUE(mail.ok() && mail->has_value());
  EXPECT_EQ((*mail)->from, 0);
}

TEST(SubsetCommunicator, RefusesMembersThatAreNoList) {
  RoutedWorld world(3);
  for (const Members& wrong : {Members{}, Members{0}, Members{1, 0},
                               Members{1, 1}, Members{1, 3}, Members{-1, 1}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        make_subset_communicator(world.router(1),
                                 {.members = wrong, .epoch = 2})
            .status()));
  }
}

TEST(SubsetCommunicator, EpochsOnlyGrow) {
  RoutedWorld world(2);
  subset(world.router(0), {0, 1}, 5);
  for (std::uint32_t epoch : {4u, 5u}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(
        make_subset_communicator(world.router(0),
                                 {.members = {0, 1}, .epoch = epoch})
            .status()));
  }
}

TEST(SubsetCommunicator, MailOfEarlierEpochsAndOfOthersIsDropped) {
  RoutedWorld world(3);
  // Mail of the first epoch, of an epoch that this rank never entered, and of a
  // non-member.
  ASSERT_TRUE(world.router(1)->wires().send_mail(0, "of the first").ok());
  const auto old = subset(world.router(1), {0, 1}, 2);
  ASSERT_TRUE(old->send_mail(0, "old").ok());
  const auto stranger = subset(world.router(2), {0, 2}, 3);
  ASSERT_TRUE(stranger->send_mail(0, "strange").ok());
  const auto here = subset(world.router(0), {0, 1}, 3);
  const auto there = subset(world.router(1), {0, 1}, 3);
  ASSERT_TRUE(there->send_mail(0, "new").ok());
  const auto mail = here->receive_mail();
  ASSERT_TRUE(mail.ok() && mail->has_value());
  EXPECT_EQ((*mail)->bytes, "new");
  EXPECT_EQ((*mail)->from, 1);
  EXPECT_FALSE(here->receive_mail()->has_value());
}

TEST(SubsetCommunicator, MailOfAnEpochThatOthersEnteredFirstWaits) {
  RoutedWorld world(2);
  const auto early = subset(world.router(1), {0, 1}, 4);
  ASSERT_TRUE(early->send_mail(0, "early").ok());
  // A poll for other mail finds this mail and keeps it.
  EXPECT_FALSE(world.router(0)->receive({})->has_value());
  const auto earlier = subset(world.router(0), {0, 1}, 3);
  EXPECT_FALSE(earlier->receive_mail()->has_value());
  const auto late = subset(world.router(0), {0, 1}, 4);
  EXPECT_EQ((*late->receive_mail())->bytes, "early");
}

TEST(SubsetCommunicator, TransfersOfDifferentEpochsDoNotMatch) {
  RoutedWorld world(2);
  const DataTag tag = {.epoch = 1, .sequence = 0};
  const std::string old_text = "old";
  const std::string new_text = "new";
  std::string got = "???";
  const auto bytes = [](const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  };
  const auto first = subset(world.router(1), {0, 1}, 2);
  ASSERT_TRUE(first->post_send(0, tag, bytes(old_text)).ok());
  const auto second = subset(world.router(1), {0, 1}, 3);
  ASSERT_TRUE(second->post_send(0, tag, bytes(new_text)).ok());
  const auto here = subset(world.router(0), {0, 1}, 3);
  const auto id = here->post_receive(
      1, tag, std::as_writable_bytes(std::span(got.data(), got.size())));
  ASSERT_TRUE(id.ok());
  EXPECT_TRUE(*here->test(*id));
  EXPECT_EQ(got, "new");
}

TEST(SubsetCommunicator, ReportsMembersOnlyByNewRanks) {
  RoutedWorld world(4);
  const auto wires = subset(world.router(3), {1, 2, 3}, 2);
  Promise<int> lost;
  wires->on_peer_lost([&](int rank, const std::string&) { lost.set(rank); });
  world.world.kill(0);
  world.world.kill(2);
  EXPECT_EQ(*lost.future().wait(), 1);
  wires->on_peer_lost({});
}

TEST(SubsetCommunicator, AnExchangeEndsAtOnceIfAMemberIsDead) {
  RoutedWorld world(4);
  world.world.kill(0);
  std::vector<std::thread> ranks;
  for (int rank : {1, 3}) {
    ranks.emplace_back([&, rank] {
      const auto wires = subset(world.router(rank), {1, 2, 3}, 2);
      if (rank == 3) world.world.kill(2);
      const auto all = wires->exchange("", exchange_deadline());
      EXPECT_TRUE(absl::IsAborted(all.status())) << all.status();
      EXPECT_THAT(std::string(all.status().message()), HasSubstr("rank 1 ("));
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(SubsetCommunicator, AnExchangeWithoutAMemberNamesItWhenTheTimeIsOver) {
  RoutedWorld world(3);
  const auto wires = subset(world.router(0), {0, 2}, 2);
  const auto all = wires->exchange(
      "", std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
  EXPECT_TRUE(absl::IsDeadlineExceeded(all.status())) << all.status();
  EXPECT_THAT(std::string(all.status().message()), HasSubstr("rank 1 ("));
}

TEST(SubsetCommunicator, ItsInterruptMayEndAWaitForMail) {
  RoutedWorld world(2);
  bool over = false;
  auto wires = make_subset_communicator(
      world.router(0), {.members = {0, 1}, .epoch = 2, .interrupt = [&] {
                          return over ? absl::AbortedError("over")
                                      : absl::OkStatus();
                        }});
  ASSERT_EQ(wires.status(), absl::OkStatus());
  EXPECT_FALSE((*wires)->receive_mail()->has_value());
  over = true;
  EXPECT_TRUE(absl::IsAborted((*wires)->receive_mail().status()));
  EXPECT_TRUE(
      absl::IsAborted((*wires)->exchange("", exchange_deadline()).status()));
}

TEST(EpochRouter, KeepsNoticesApartAndInOrder) {
  RoutedWorld world(2);
  const auto wires = subset(world.router(1), {0, 1}, 2);
  ASSERT_TRUE(world.router(0)->send(1, {}, "first").ok());
  ASSERT_TRUE(world.router(0)->send(1, {}, "second").ok());
  EXPECT_FALSE(wires->receive_mail()->has_value());
  EXPECT_EQ((*world.router(1)->receive({}))->bytes, "first");
  EXPECT_EQ((*world.router(1)->receive({}))->bytes, "second");
  EXPECT_FALSE(world.router(1)->receive({})->has_value());
}

TEST(EpochRouter, KeepsMailOfTheCurrentEpochWhileNoticesAreRead) {
  RoutedWorld world(2);
  const auto here = subset(world.router(1), {0, 1}, 2);
  const auto there = subset(world.router(0), {0, 1}, 2);
  ASSERT_TRUE(there->send_mail(1, "mail").ok());
  EXPECT_FALSE(world.router(1)->receive({})->has_value());
  const auto mail = here->receive_mail();
  ASSERT_TRUE(mail.ok() && mail->has_value());
  EXPECT_EQ((*mail)->bytes, "mail");
}

TEST(EpochRouter, MessagesWithoutATrailerOrWithAStrangeOneAreDropped) {
  RoutedWorld world(2);
  Communicator& wires = world.router(0)->wires();
  ASSERT_TRUE(wires.send_mail(1, "").ok());
  ASSERT_TRUE(wires.send_mail(1, std::string(16, 'x')).ok());
  ASSERT_TRUE(wires.send_mail(1, std::string(1000, 'x')).ok());
  ASSERT_TRUE(world.router(0)
                  ->send(1, {static_cast<EpochRouter::Kind>(77), 0}, "x")
                  .ok());
  ASSERT_TRUE(world.router(0)->send(1, {}, "good").ok());
  EXPECT_EQ((*world.router(1)->receive({}))->bytes, "good");
}

TEST(EpochRouter, EarlyMailIsBounded) {
  RoutedWorld world(2);
  constexpr int kSent = 10'000;
  for (int i = 0; i < kSent; ++i) {
    ASSERT_TRUE(
        world.router(0)->send(1, {EpochRouter::Kind::kMail, 7}, "early").ok());
  }
  EXPECT_FALSE(world.router(1)->receive({})->has_value());
  const auto wires = subset(world.router(1), {0, 1}, 7);
  int kept = 0;
  while (wires->receive_mail()->has_value()) ++kept;
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, kSent);
}

TEST(EpochRouter, RemembersDeadRanks) {
  RoutedWorld world(3);
  world.world.kill(2, "fell over");
  while (world.router(0)->losses().empty()) std::this_thread::yield();
  EXPECT_THAT(world.router(0)->losses(),
              ElementsAre(std::pair<const int, std::string>(2, "fell over")));
}

TEST(EpochRouter, FoldsTheTagsOfNearEpochsApartEvenInTheirLowBits) {
  for (std::uint32_t a = 1; a < 20; ++a) {
    for (std::uint32_t b = 1; b < a; ++b) {
      const auto low = [](std::uint32_t epoch) {
        return EpochRouter::folded(epoch, {.epoch = 1, .sequence = 3}).epoch &
               0x3fu;
      };
      EXPECT_NE(low(a), low(b));
    }
  }
  EXPECT_EQ(EpochRouter::folded(9, {.epoch = 1, .sequence = 3}).sequence, 3u);
}

}  // namespace
}  // namespace hvd::transport
