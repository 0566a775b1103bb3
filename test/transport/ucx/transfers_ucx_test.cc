// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/ucx/transfers.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace hvd::transport {
namespace {

constexpr DataTag kTag = {.epoch = 7, .sequence = 9};

// Two ranks that this thread drives in turns.
class TwoRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> addresses;
    for (Rank& rank : ranks_) {
      auto worker = UcxWorker::start();
      ASSERT_TRUE(worker.ok()) << worker.status();
      rank.worker = *std::move(worker);
      addresses.push_back(rank.worker->address().value());
    }
    for (int i = 0; i < 2; ++i) {
      Rank& rank = ranks_[i];
      ASSERT_TRUE(rank.worker->connect(addresses).ok());
      rank.transfers = std::make_unique<UcxTransfers>(
          *rank.worker,
          UcxTransfers::Options{
              .rank = i, .size = 2, .grace = std::chrono::milliseconds(0)});
    }
  }

  UcxTransfers& rank(int i) { return *ranks_[i].transfers; }
  UcxWorker& worker(int i) { return *ranks_[i].worker; }

  TransferId send(int from, const std::string& text) {
    return rank(from).post_send(1 - from, kTag, std::as_bytes(std::span(text)));
  }
  TransferId receive(int at, std::string& text) {
    return rank(at).post_receive(1 - at, kTag,
                                 std::as_writable_bytes(std::span(text)));
  }

  // Progresses both ranks until the transfer is complete or has failed.
  absl::Status outcome(int at, TransferId id) {
    const auto limit =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < limit) {
      const auto done = rank(at).test(id);
      if (!done.ok()) return done.status();
      if (*done) return absl::OkStatus();
      rank(1 - at).progress();
    }
    return absl::DeadlineExceededError("the transfer does not end");
  }

 private:
  struct Rank {
    std::unique_ptr<UcxWorker> worker;
    std::unique_ptr<UcxTransfers> transfers;
  };
  Rank ranks_[2];
};

// Sizes that UCX sends at once, in several parts, and by rendezvous.
std::vector<std::size_t> sizes() { return {0, 100, 40'000, 3'000'000}; }

TEST_F(TwoRanks, LongAndShortMessagesOfOneTagKeepTheirOrder) {
  std::vector<std::string> sent;
  std::vector<TransferId> sends;
  for (int round = 0; round < 5; ++round) {
    for (const std::size_t bytes : {3'000'000, 10, 40'000, 0, 20'000}) {
      sent.emplace_back(bytes, static_cast<char>('a' + sent.size()));
    }
  }
  for (const std::string& text : sent) sends.push_back(send(0, text));
  for (const std::string& text : sent) {
    std::string got(text.size(), '?');
    ASSERT_TRUE(outcome(1, receive(1, got)).ok());
    ASSERT_TRUE(got == text) << text.size() << " bytes";
  }
  for (const TransferId id : sends) EXPECT_TRUE(outcome(0, id).ok());
}

TEST_F(TwoRanks, AnotherSizeLeavesTheMemoryAsItIs) {
  for (const bool is_posted_first : {true, false}) {
    for (const std::size_t sent : sizes()) {
      for (const std::size_t expected : sizes()) {
        if (sent == expected) continue;
        const std::string text(sent, 'x');
        std::string target(expected, '?');
        std::string next(1, '?');
        TransferId received = 0;
        if (is_posted_first) received = receive(1, target);
        const TransferId id = send(0, text);
        for (int look = 0; look < 100; ++look) rank(1).progress();
        if (!is_posted_first) received = receive(1, target);
        const absl::Status status = outcome(1, received);
        EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
        EXPECT_TRUE(target == std::string(expected, '?'));
        EXPECT_TRUE(outcome(0, id).ok()) << sent << " bytes";
        // The next one arrives.
        const TransferId last = send(0, "y");
        EXPECT_TRUE(outcome(1, receive(1, next)).ok());
        EXPECT_EQ(next, "y");
        EXPECT_TRUE(outcome(0, last).ok());
      }
    }
  }
}

TEST_F(TwoRanks, AnAbandonedReceiveFreesItsMemory) {
  for (const std::size_t bytes : sizes()) {
    std::string target(bytes, '?');
    EXPECT_TRUE(rank(1).abandon(receive(1, target)));
    const std::string text(bytes, 'x');
    const TransferId id = send(0, text);
    for (int look = 0; look < 1000; ++look) rank(1).progress();
    EXPECT_TRUE(target == std::string(bytes, '?'));
    std::string later(bytes, '?');
    EXPECT_TRUE(outcome(1, receive(1, later)).ok());
    EXPECT_TRUE(later == text);
    EXPECT_TRUE(outcome(0, id).ok());
  }
}

// Its memory may be read until the process ends, so the caller must keep it.
TEST_F(TwoRanks, AnAbandonedSendThatWaitsForItsReceiverKeepsItsMemory) {
  const std::string text(3'000'000, 'x');
  const TransferId id = send(0, text);
  EXPECT_FALSE(rank(0).abandon(id));
  EXPECT_FALSE(rank(0).test(id).ok());
}

// Such as a link of RDMA that has failed between living ranks.
TEST_F(TwoRanks, ATransferFailsWhenItsEndpointHasAndNoDeathIsReported) {
  std::string never(100, '?');
  const TransferId received = receive(0, never);
  EXPECT_FALSE(rank(0).test(received).value());
  worker(0).note_failure(1, UCS_ERR_CONNECTION_RESET);
  const absl::Status status = outcome(0, received);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

}  // namespace
}  // namespace hvd::transport
