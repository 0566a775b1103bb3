// SPDX-License-Identifier: Apache-2.0
#include "test/transport/communicator_suite.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hvd::transport {
namespace {

TEST_P(CommunicatorSuite, KnowsItsRankAndItsPeers) {
  on_every_rank([](Communicator& communicator) {
    ASSERT_GE(communicator.rank(), 0);
    ASSERT_LT(communicator.rank(), communicator.size());
    ASSERT_EQ(communicator.peers().size(),
              static_cast<std::size_t>(communicator.size()));
    for (const Peer& peer : communicator.peers()) {
      EXPECT_FALSE(peer.host.empty());
      EXPECT_FALSE(peer.node.empty());
      EXPECT_GT(peer.pid, 0);
    }
  });
}

TEST_P(CommunicatorSuite, ExchangeGivesEveryRankAllStringsInRankOrder) {
  on_every_rank([](Communicator& communicator) {
    // Several rounds of texts of unequal lengths, including empty and binary
    // ones.
    for (int round = 0; round < 3; ++round) {
      const auto mine = [&](int rank) {
        return std::string(static_cast<std::size_t>(rank * 1000 + round), '\0');
      };
      const auto all = communicator.exchange(mine(communicator.rank()), soon());
      ASSERT_TRUE(all.ok()) << all.status();
      ASSERT_EQ(all->size(), static_cast<std::size_t>(communicator.size()));
      for (int rank = 0; rank < communicator.size(); ++rank) {
        EXPECT_EQ((*all)[static_cast<std::size_t>(rank)], mine(rank));
      }
    }
  });
}

TEST_P(CommunicatorSuite, MailOfAnySizeArrivesWholeAndInOrder) {
  on_every_rank([](Communicator& communicator) {
    // Large before small: mail must not be reordered.
    const std::vector<std::size_t> sizes = {0, 1, 1'000'003, 17, 65'537, 0, 2};
    for (int to = 0; to < communicator.size(); ++to) {
      for (std::size_t bytes : sizes) {
        ASSERT_TRUE(
            communicator.send_mail(to, pattern(communicator.rank(), to, bytes))
                .ok());
      }
    }
    std::vector<std::size_t> got(static_cast<std::size_t>(communicator.size()));
    const std::size_t all = sizes.size() * got.size();
    for (std::size_t i = 0; i < all; ++i) {
      const Mail mail = next_mail(communicator);
      ASSERT_GE(mail.from, 0);
      const std::size_t number = got[static_cast<std::size_t>(mail.from)]++;
      ASSERT_LT(number, sizes.size());
      EXPECT_TRUE(mail.bytes ==
                  pattern(mail.from, communicator.rank(), sizes[number]))
          << "mail " << number << " from rank " << mail.from;
    }
  });
}

TEST_P(CommunicatorSuite, MailToOneselfArrives) {
  on_every_rank([](Communicator& communicator) {
    const std::string text = pattern(1, 2, 1'000'000);
    ASSERT_TRUE(communicator.send_mail(communicator.rank(), text).ok());
    const Mail mail = next_mail(communicator);
    EXPECT_EQ(mail.from, communicator.rank());
    EXPECT_TRUE(mail.bytes == text);
  });
}

// A transport may poll mail less often while data comes in, but must poll.
TEST_P(CommunicatorSuite, MailIsFoundWhileDataComesIn) {
  on_every_rank([](Communicator& communicator) {
    constexpr std::uint32_t kCalls = 200;
    const int ranks = communicator.size();
    const int to = (communicator.rank() + 1) % ranks;
    const int from = (communicator.rank() + ranks - 1) % ranks;
    ASSERT_TRUE(communicator.send_mail(to, "news").ok());
    bool found = false;
    // These calls also give the sender progress on its mail.
    for (std::uint32_t call = 0; call < kCalls; ++call) {
      const DataTag tag = {.epoch = 0, .sequence = call};
      const std::string mine = "x";
      std::string theirs = "?";
      const TransferId in = receive(communicator, from, tag, theirs);
      const TransferId out = send(communicator, to, tag, mine);
      ASSERT_TRUE(finish(communicator, in).ok());
      ASSERT_TRUE(finish(communicator, out).ok());
      const auto mail = communicator.receive_mail();
      ASSERT_TRUE(mail.ok()) << mail.status();
      found = found || mail->has_value();
    }
    EXPECT_TRUE(found);
    flush(communicator);
    barrier(communicator);
  });
}

TEST_P(CommunicatorSuite, NoMailIsNotAnError) {
  on_every_rank([](Communicator& communicator) {
    const auto mail = communicator.receive_mail();
    ASSERT_TRUE(mail.ok()) << mail.status();
    EXPECT_FALSE(mail->has_value());
    EXPECT_TRUE(*communicator.mail_is_flushed());
    // All ranks have polled before any goes on.
    barrier(communicator);
  });
}

TEST_P(CommunicatorSuite, TransfersOfEverySizeArrive) {
  on_every_rank([](Communicator& communicator) {
    std::uint32_t sequence = 0;
    for (std::size_t bytes :
         std::initializer_list<std::size_t>{0, 1, 7, 4096, 65537, 5000003}) {
      const DataTag tag = {.epoch = 1, .sequence = sequence++};
      const int to = next_rank(communicator);
      const int from = previous_rank(communicator);
      const std::string mine = pattern(communicator.rank(), to, bytes);
      std::string theirs(bytes, '?');
      const TransferId in = receive(communicator, from, tag, theirs);
      const TransferId out = send(communicator, to, tag, mine);
      EXPECT_TRUE(finish(communicator, in).ok());
      EXPECT_TRUE(finish(communicator, out).ok());
      EXPECT_TRUE(theirs == pattern(from, communicator.rank(), bytes))
          << bytes << " bytes";
    }
  });
}

TEST_P(CommunicatorSuite, TransfersMatchByTagInAnyOrderOfPosting) {
  on_every_rank([](Communicator& communicator) {
    constexpr std::uint32_t kCount = 8;
    std::vector<std::string> mine;
    std::vector<std::string> theirs(kCount, std::string(1000, '?'));
    std::vector<TransferId> ids;
    for (std::uint32_t i = 0; i < kCount; ++i) {
      mine.push_back(std::string(1000, static_cast<char>('a' + i)));
    }
    for (std::uint32_t i = 0; i < kCount; ++i) {
      ids.push_back(send(communicator, next_rank(communicator),
                         {.epoch = 3, .sequence = i}, mine[i]));
    }
    for (std::uint32_t i = kCount; i-- > 0;) {
      ids.push_back(receive(communicator, previous_rank(communicator),
                            {.epoch = 3, .sequence = i}, theirs[i]));
    }
    for (TransferId id : ids) EXPECT_TRUE(finish(communicator, id).ok());
    for (std::uint32_t i = 0; i < kCount; ++i) EXPECT_EQ(theirs[i], mine[i]);
  });
}

TEST_P(CommunicatorSuite, TransfersWithOneTagMatchInTheOrderPosted) {
  on_every_rank([](Communicator& communicator) {
    const DataTag tag = {.epoch = 1, .sequence = 0xffffffffu};
    const std::vector<std::size_t> sizes = {100'000, 3, 0, 200'000};
    std::vector<std::string> mine;
    std::vector<std::string> theirs;
    std::vector<TransferId> ids;
    for (std::size_t bytes : sizes) {
      mine.push_back(pattern(1, 1, bytes));
      theirs.emplace_back(bytes, '?');
    }
    for (std::string& text : theirs) {
      ids.push_back(
          receive(communicator, previous_rank(communicator), tag, text));
    }
    for (const std::string& text : mine) {
      ids.push_back(send(communicator, next_rank(communicator), tag, text));
    }
    for (TransferId id : ids) EXPECT_TRUE(finish(communicator, id).ok());
    EXPECT_TRUE(mine == theirs);
  });
}

TEST_P(CommunicatorSuite, MailAndTransfersDoNotDisturbEachOther) {
  on_every_rank([](Communicator& communicator) {
    const int to = next_rank(communicator);
    const int from = previous_rank(communicator);
    for (std::uint32_t i = 0; i < 50; ++i) {
      const std::string mine = pattern(communicator.rank(), to, i * 301);
      std::string theirs(mine.size(), '?');
      const DataTag tag = {.epoch = 0, .sequence = i};
      ASSERT_TRUE(communicator.send_mail(to, std::to_string(i)).ok());
      const TransferId out = send(communicator, to, tag, mine);
      const TransferId in = receive(communicator, from, tag, theirs);
      EXPECT_TRUE(finish(communicator, in).ok());
      const Mail mail = next_mail(communicator);
      EXPECT_EQ(mail.bytes, std::to_string(i));
      EXPECT_EQ(mail.from, from);
      EXPECT_TRUE(finish(communicator, out).ok());
      EXPECT_TRUE(theirs == pattern(from, communicator.rank(), i * 301));
    }
  });
}

TEST_P(CommunicatorSuite, TransfersOfAStaleEpochMatchNoReceive) {
  on_every_rank([](Communicator& communicator) {
    const int to = next_rank(communicator);
    const int from = previous_rank(communicator);
    const std::string stale(64, 's');
    const std::string fresh(64, 'f');
    std::string got(64, '?');
    const TransferId lost =
        send(communicator, to, {.epoch = 4, .sequence = 9}, stale);
    const TransferId out =
        send(communicator, to, {.epoch = 5, .sequence = 9}, fresh);
    const TransferId in =
        receive(communicator, from, {.epoch = 5, .sequence = 9}, got);
    EXPECT_TRUE(finish(communicator, in).ok());
    EXPECT_TRUE(finish(communicator, out).ok());
    EXPECT_EQ(got, fresh);
    communicator.abandon(lost);
  });
}

TEST_P(CommunicatorSuite, AnotherSizeThanPostedIsAnErrorAtTheReceiver) {
  on_every_rank([](Communicator& communicator) {
    const int to = next_rank(communicator);
    const int from = previous_rank(communicator);
    std::uint32_t sequence = 0;
    // (Sent, expected): shorter and longer, small and above any eager limit.
    const std::pair<std::size_t, std::size_t> cases[] = {
        {8, 16},          {16, 8}, {0, 8}, {8, 0}, {500'000, 500'001},
        {1'000'000, 1000}};
    for (const auto& [sent, expected] : cases) {
      const DataTag tag = {.epoch = 2, .sequence = sequence++};
      const std::string mine(sent, 'm');
      std::string theirs(expected + 8, '?');
      const auto in = communicator.post_receive(
          from, tag,
          std::as_writable_bytes(std::span(theirs.data(), expected)));
      ASSERT_TRUE(in.ok());
      const TransferId out = send(communicator, to, tag, mine);
      const absl::Status status = finish(communicator, *in);
      EXPECT_TRUE(absl::IsInvalidArgument(status))
          << sent << " for " << expected << ": " << status;
      EXPECT_EQ(theirs.substr(expected), "????????");
      EXPECT_TRUE(finish(communicator, out).ok());
    }
    // The wires still work.
    std::string theirs(3, '?');
    const std::string mine = "abc";
    const DataTag tag = {.epoch = 2, .sequence = sequence};
    const TransferId out = send(communicator, to, tag, mine);
    EXPECT_TRUE(
        finish(communicator, receive(communicator, from, tag, theirs)).ok());
    EXPECT_TRUE(finish(communicator, out).ok());
    EXPECT_EQ(theirs, mine);
  });
}

TEST_P(CommunicatorSuite, AnAbandonedReceiveIsNeverWritten) {
  on_every_rank([](Communicator& communicator) {
    const int to = next_rank(communicator);
    const int from = previous_rank(communicator);
    const DataTag tag = {.epoch = 1, .sequence = 1};
    std::string given_up(1000, '?');
    EXPECT_TRUE(
        communicator.abandon(receive(communicator, from, tag, given_up)));
    barrier(communicator);
    // Arrives at the current receive, not at the abandoned one.
    const std::string mine(1000, 'm');
    std::string theirs(1000, '?');
    const TransferId out = send(communicator, to, tag, mine);
    EXPECT_TRUE(
        finish(communicator, receive(communicator, from, tag, theirs)).ok());
    EXPECT_TRUE(finish(communicator, out).ok());
    EXPECT_EQ(theirs, mine);
    EXPECT_EQ(given_up, std::string(1000, '?'));
  });
}

TEST_P(CommunicatorSuite, AForgottenTransferIsAnErrorAndNotACrash) {
  on_every_rank([](Communicator& communicator) {
    const DataTag tag = {.epoch = 1, .sequence = 1};
    const std::string mine = "x";
    std::string theirs = "?";
    const TransferId out = send(communicator, communicator.rank(), tag, mine);
    const TransferId in =
        receive(communicator, communicator.rank(), tag, theirs);
    EXPECT_TRUE(finish(communicator, in).ok());
    EXPECT_TRUE(finish(communicator, out).ok());
    EXPECT_EQ(theirs, "x");
    EXPECT_TRUE(absl::IsInvalidArgument(communicator.test(in).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(communicator.test(4711).status()));
    communicator.abandon(in);
    communicator.abandon(4711);
  });
}

TEST_P(CommunicatorSuite, RefusesRanksThatDoNotExist) {
  on_every_rank([](Communicator& communicator) {
    std::string text = "x";
    for (int no_rank : {-1, communicator.size()}) {
      EXPECT_TRUE(
          absl::IsInvalidArgument(communicator.send_mail(no_rank, "x")));
      EXPECT_TRUE(absl::IsInvalidArgument(
          communicator
              .post_send(no_rank, {}, std::as_bytes(std::span(text.data(), 1)))
              .status()));
      EXPECT_TRUE(absl::IsInvalidArgument(
          communicator
              .post_receive(no_rank, {},
                            std::as_writable_bytes(std::span(text.data(), 1)))
              .status()));
    }
  });
}

TEST_P(CommunicatorSuite, LosesNoRankWhileAllLive) {
  on_every_rank([](Communicator& communicator) {
    communicator.on_peer_lost([](int rank, const std::string& how) {
      ADD_FAILURE() << "rank " << rank << " " << how;
    });
    barrier(communicator);
    communicator.on_peer_lost({});
    barrier(communicator);
  });
}

TEST_P(CommunicatorSuite, AJobCanFollowAnotherInOneProcess) {
  for (int job = 0; job < 20; ++job) {
    on_every_rank([&](Communicator& communicator) {
      const int to = next_rank(communicator);
      const int from = previous_rank(communicator);
      ASSERT_TRUE(communicator.exchange(std::to_string(job), soon()).ok());
      // Left unreceived on purpose: the next job must not see these.
      const std::string stale = "stale";
      const DataTag tag = {.epoch = 7, .sequence = 7};
      send(communicator, to, {.epoch = 8, .sequence = 8}, stale);
      const std::string mine = std::to_string(job);
      std::string theirs(mine.size(), '?');
      const TransferId out = send(communicator, to, tag, mine);
      EXPECT_TRUE(
          finish(communicator, receive(communicator, from, tag, theirs)).ok());
      EXPECT_TRUE(finish(communicator, out).ok());
      EXPECT_EQ(theirs, mine);
    });
  }
}

}  // namespace
}  // namespace hvd::transport
