// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mail_exchange.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "horovodpp/transport/loopback/loopback.h"

namespace hvd::transport {
namespace {

using Clock = std::chrono::steady_clock;
using All = absl::StatusOr<std::vector<std::string>>;

class LoopbackPost : public ExchangePost {
 public:
  explicit LoopbackPost(std::unique_ptr<Communicator> wires)
      : wires_(std::move(wires)) {}
  int rank() const override { return wires_->rank(); }
  const std::vector<Peer>& peers() const override { return wires_->peers(); }
  absl::Status send(int to, std::string bytes) override {
    return wires_->send_mail(to, std::move(bytes));
  }
  absl::StatusOr<std::optional<Mail>> receive() override {
    return wires_->receive_mail();
  }
  absl::StatusOr<bool> flushed() override { return wires_->mail_is_flushed(); }

 private:
  std::unique_ptr<Communicator> wires_;
};

// Runs `body` on a thread for each of `ranks` of a world of `size`.
void on_ranks(int size, const std::vector<int>& ranks,
              const std::function<void(LoopbackPost&)>& body) {
  LoopbackWorld world(size);
  std::vector<std::thread> threads;
  for (int rank : ranks) {
    threads.emplace_back([&, rank] {
      LoopbackPost post(world.communicator(rank));
      body(post);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ExchangeByMail, GivesEveryRankAllStringsRoundByRound) {
  on_ranks(4, {0, 1, 2, 3}, [](LoopbackPost& post) {
    for (std::uint32_t round = 0; round < 50; ++round) {
      const auto text = [&](int rank) {
        return std::string(static_cast<std::size_t>(rank), 'x') +
               std::to_string(round);
      };
      // The latest possible deadline must not overflow.
      const All all = exchange_by_mail(post, round, text(post.rank()),
                                       Clock::time_point::max());
      ASSERT_TRUE(all.ok()) << all.status();
      ASSERT_EQ(all->size(), 4u);
      for (int rank = 0; rank < 4; ++rank) {
        EXPECT_EQ((*all)[static_cast<std::size_t>(rank)], text(rank));
      }
    }
  });
}

TEST(ExchangeByMail, OfOneNeedsNoMail) {
  on_ranks(1, {0}, [](LoopbackPost& post) {
    const All all = exchange_by_mail(post, 0, "me", Clock::now());
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(*all, std::vector<std::string>{"me"});
  });
}

TEST(ExchangeByMail, EveryRankLearnsTheMissingRank) {
  on_ranks(4, {0, 1, 3}, [](LoopbackPost& post) {
    const All all =
        exchange_by_mail(post, 0, "", Clock::now() + std::chrono::seconds(1));
    EXPECT_TRUE(absl::IsDeadlineExceeded(all.status())) << all.status();
    EXPECT_NE(all.status().message().find("3 of 4"), std::string::npos)
        << all.status();
    EXPECT_NE(all.status().message().find("rank 2"), std::string::npos)
        << all.status();
  });
}

TEST(ExchangeByMail, NamesAMissingRankZero) {
  on_ranks(2, {1}, [](LoopbackPost& post) {
    const All all = exchange_by_mail(post, 0, "", Clock::now());
    EXPECT_TRUE(absl::IsDeadlineExceeded(all.status()));
    EXPECT_NE(all.status().message().find("rank 0"), std::string::npos);
  });
}

TEST(ExchangeByMail, PassesOverMailOfOtherRoundsAndGarbage) {
  on_ranks(2, {0, 1}, [](LoopbackPost& post) {
    const int other = 1 - post.rank();
    ASSERT_TRUE(post.send(other, "").ok());
    ASSERT_TRUE(post.send(other, "abc").ok());
    ASSERT_TRUE(post.send(other, "of some other round").ok());
    const All all = exchange_by_mail(post, 7, "seven",
                                     Clock::now() + std::chrono::seconds(60));
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(*all, (std::vector<std::string>{"seven", "seven"}));
  });
}

TEST(ExchangeByMail, AMalformedAnswerIsAnError) {
  using namespace std::string_literals;
  for (const std::string& body :
       {""s, "short"s, "\xff\xff\xff\xff\xff\xff\xff\xff"s,
        "\1\0\0\0\0\0\0\0x\0\0\0\0\0\0\0\0more"s}) {
    on_ranks(2, {0, 1}, [&](LoopbackPost& post) {
      if (post.rank() == 0) {
        ASSERT_TRUE(post.send(1, "\0\0\0\0\1"s + body).ok());
        return;
      }
      const All all = exchange_by_mail(post, 0, "",
                                       Clock::now() + std::chrono::seconds(60));
      EXPECT_TRUE(absl::IsInternal(all.status())) << all.status();
    });
  }
}

// A rank that aborts a round which the others have just finished is missing in
// their next round.
TEST(ExchangeByMail, AnAbortOfAFinishedRoundEndsTheNextOne) {
  using namespace std::string_literals;
  for (int chosen : {0, 1}) {
    on_ranks(2, {0, 1}, [&](LoopbackPost& post) {
      if (post.rank() == chosen) {
        ASSERT_TRUE(post.send(1 - chosen, "\6\0\0\0\3rank 2 fell over"s).ok());
        return;
      }
      const All all =
          exchange_by_mail(post, 7, "", Clock::now() + std::chrono::hours(1));
      EXPECT_EQ(all.status(), absl::AbortedError("rank 2 fell over"));
    });
  }
}

// Rank 0 does not wait for a rank that died without taking the answer.
TEST(ExchangeByMail, ADeathBeforeTheAnswerEndsTheNextRound) {
  class HasADeadReader : public LoopbackPost {
   public:
    using LoopbackPost::LoopbackPost;
    absl::StatusOr<bool> flushed() override {
      return absl::AbortedError("rank 2 fell over");
    }
  };
  LoopbackWorld world(2);
  const auto far = Clock::now() + std::chrono::hours(1);
  std::thread leader([&] {
    HasADeadReader post(world.communicator(0));
    const All all = exchange_by_mail(post, 0, "", far);
    EXPECT_EQ(all.status(), absl::AbortedError("rank 2 fell over"));
  });
  LoopbackPost post(world.communicator(1));
  EXPECT_TRUE(exchange_by_mail(post, 0, "", far).ok());
  const All all = exchange_by_mail(post, 1, "", far);
  EXPECT_EQ(all.status(), absl::AbortedError("rank 2 fell over"));
  leader.join();
}

TEST(ExchangeByMail, ARefusalReachesAllRanks) {
  for (int chosen : {0, 1, 2}) {
    on_ranks(3, {0, 1, 2}, [&](LoopbackPost& post) {
      const absl::Status why = absl::AbortedError("rank 2 has no threads");
      if (post.rank() == chosen) {
        EXPECT_EQ(refuse_exchange(post, 0, why), why);
        return;
      }
      const auto far = Clock::now() + std::chrono::hours(1);
      EXPECT_EQ(exchange_by_mail(post, 0, "", far).status(), why);
    });
  }
}

// Any rank that sees a death tells all others at once.
TEST(ExchangeByMail, ARankThatSeesADeathAbortsForAll) {
  class SeesADeath : public ExchangePost {
   public:
    explicit SeesADeath(LoopbackPost& post) : post_(post) {}
    int rank() const override { return post_.rank(); }
    const std::vector<Peer>& peers() const override { return post_.peers(); }
    absl::Status send(int to, std::string bytes) override {
      return post_.send(to, std::move(bytes));
    }
    absl::StatusOr<std::optional<Mail>> receive() override {
      return absl::AbortedError("rank 2 fell over");
    }
    absl::StatusOr<bool> flushed() override { return post_.flushed(); }

   private:
    LoopbackPost& post_;
  };
  for (int chosen : {0, 1, 3}) {
    on_ranks(4, {0, 1, 3}, [&](LoopbackPost& post) {
      SeesADeath sees(post);
      const auto far = Clock::now() + std::chrono::hours(1);
      const All all = post.rank() == chosen
                          ? exchange_by_mail(sees, 0, "", far)
                          : exchange_by_mail(post, 0, "", far);
      EXPECT_EQ(all.status(), absl::AbortedError("rank 2 fell over"));
    });
  }
}

}  // namespace
}  // namespace hvd::transport
