// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/node/segment.h"

#include <dirent.h>
#include <gtest/gtest.h>

#include <barrier>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/core/job/rank_status.h"
#include "horovodpp/transport/loopback/loopback.h"
#include "horovodpp/transport/waiting.h"
#include "test/transport/child_process.h"
#include "test/transport/never_interrupt.h"

namespace hvd::transport {
namespace {

using Opened = absl::StatusOr<std::unique_ptr<NodeSegment>>;

std::chrono::steady_clock::time_point soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

// Opens segments on `ranks` threads and runs `body` on each.
void on_threads(int ranks, int ranks_per_node,
                const std::function<std::size_t(int)>& bytes_of_rank,
                const std::function<void(int, Opened)>& body) {
  LoopbackWorld world(ranks, {.ranks_per_node = ranks_per_node});
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto communicator = world.communicator(rank);
      const auto topology = Topology::from_peers(rank, communicator->peers());
      ASSERT_TRUE(topology.ok());
      body(rank, NodeSegment::open(*communicator, *topology,
                                   bytes_of_rank(rank), soon()));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::unique_ptr<NodeSegment> solo_segment(std::size_t bytes) {
  LoopbackWorld world(1);
  const auto communicator = world.communicator(0);
  auto segment = NodeSegment::open(
      *communicator, *Topology::from_peers(0, communicator->peers()), bytes,
      soon());
  EXPECT_TRUE(segment.ok()) << segment.status();
  return segment.ok() ? *std::move(segment) : nullptr;
}

std::set<std::string> names_in(const char* folder) {
  std::set<std::string> names;
  if (DIR* dir = ::opendir(folder)) {
    while (const dirent* entry = ::readdir(dir)) names.insert(entry->d_name);
    ::closedir(dir);
  }
  return names;
}

class BreakInterrupt : public Interrupt {
 public:
  explicit BreakInterrupt(const NodeSegment& segment) : segment_(segment) {}
  absl::Status check() override {
    if (!segment_.failure_record().raised()) return absl::OkStatus();
    return absl::AbortedError(segment_.failure_record().why());
  }

 private:
  const NodeSegment& segment_;
};

TEST(NodeSegment, ThreadsOfANodeShareOneZeroedMapping) {
  std::mutex mutex;
  std::set<std::byte*> payloads;
  std::vector<std::unique_ptr<NodeSegment>> segments(4);
  on_threads(
      4, 0, [](int) { return 10'000; },
      [&](int rank, Opened segment) {
        ASSERT_TRUE(segment.ok()) << segment.status();
        EXPECT_EQ((*segment)->local_rank(), rank);
        EXPECT_EQ((*segment)->local_size(), 4);
        const std::scoped_lock lock(mutex);
        payloads.insert((*segment)->payload().data());
        segments[static_cast<std::size_t>(rank)] = *std::move(segment);
      });
  ASSERT_EQ(payloads.size(), 1u);
  const auto payload = segments[2]->payload();
  EXPECT_EQ(payload.size(), 10'000u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(payload.data()) % 4096, 0u);
  for (std::byte byte : payload) ASSERT_EQ(byte, std::byte{0});
  // The segment lives as long as one rank holds it.
  segments[0].reset();
  segments[1].reset();
  segments[3].reset();
  payload[9999] = std::byte{1};
}

TEST(NodeSegment, EveryNodeHasItsOwn) {
  std::mutex mutex;
  std::set<std::byte*> payloads;
  std::vector<std::unique_ptr<NodeSegment>> segments(5);
  on_threads(
      5, 2, [](int) { return 100; },
      [&](int rank, Opened segment) {
        ASSERT_TRUE(segment.ok()) << segment.status();
        EXPECT_EQ((*segment)->local_rank(), rank % 2);
        EXPECT_EQ((*segment)->local_size(), rank == 4 ? 1 : 2);
        const std::scoped_lock lock(mutex);
        payloads.insert((*segment)->payload().data());
        segments[static_cast<std::size_t>(rank)] = *std::move(segment);
      });
  EXPECT_EQ(payloads.size(), 3u);
}

TEST(NodeSegment, MayHaveNoPayload) {
  EXPECT_EQ(solo_segment(0)->payload().size(), 0u);
}

TEST(NodeSegment, RingsForAllOthersAndNotForItself) {
  on_threads(
      3, 0, [](int) { return 4096; },
      [](int rank, Opened segment) {
        ASSERT_TRUE(segment.ok()) << segment.status();
        auto& has_rung =
            *reinterpret_cast<std::atomic<int>*>((*segment)->payload().data());
        if (rank == 0) {
          (*segment)->ring_others();
          has_rung.store(1);
        }
        while (has_rung.load() == 0) std::this_thread::yield();
        EXPECT_EQ((*segment)->doorbell(rank).missed(), rank != 0);
      });
}

TEST(NodeSegment, ThreadsWakeEachOtherByTheirBells) {
  on_threads(
      3, 0, [](int) { return 4096; },
      [](int rank, Opened segment) {
        ASSERT_TRUE(segment.ok()) << segment.status();
        // Several hundred barriers in shared memory.
        auto& arrived =
            *reinterpret_cast<std::atomic<int>*>((*segment)->payload().data());
        NeverInterrupt interrupt;
        const WaitPolicy policy = {.spin = std::chrono::nanoseconds(0)};
        for (int step = 1; step <= 300; ++step) {
          arrived.fetch_add(1);
          (*segment)->ring_others();
          EXPECT_TRUE(wait_until([&] { return arrived.load() >= 3 * step; },
                                 interrupt, policy, (*segment)->doorbell(rank))
                          .ok());
        }
      });
}

TEST(NodeSegment, AnErrorAnywhereIsTheResultOfEveryRank) {
  on_threads(
      3, 0, [](int) { return std::size_t{1} << 60; },
      [](int, Opened segment) {
        EXPECT_EQ(segment.status().code(), absl::StatusCode::kResourceExhausted)
            << segment.status();
        // The launcher learns the culprit, too.
        RankStatus news;
        news.set_reason(std::string(segment.status().message()));
        ASSERT_EQ(news.culprits.size(), 1u) << segment.status();
        EXPECT_EQ(news.culprits[0].rank, 0) << segment.status();
      });
  on_threads(
      2, 0, [](int) { return ~std::size_t{0}; },
      [](int, Opened segment) {
        EXPECT_EQ(segment.status().code(),
                  absl::StatusCode::kResourceExhausted);
      });
}

TEST(NodeSegment, RanksMustAgreeOnTheSize) {
  on_threads(
      3, 0, [](int rank) { return rank == 2 ? 4097u : 4096u; },
      [](int, Opened segment) {
        EXPECT_TRUE(absl::IsInvalidArgument(segment.status()))
            << segment.status();
      });
}

TEST(NodeSegment, RefusesMoreRanksThanItServes) {
  on_threads(
      NodeSegment::kMaxRanks + 1, 0, [](int) { return 1; },
      [](int, Opened segment) {
        EXPECT_TRUE(absl::IsInvalidArgument(segment.status()))
            << segment.status();
      });
}

TEST(NodeSegment, ServesProcessesAndPassesABreakOn) {
  const auto segment = solo_segment(4096);
  ASSERT_NE(segment, nullptr);
  ChildProcess child([&] {
    BreakInterrupt interrupt(*segment);
    const absl::Status status =
        wait_until([] { return false; }, interrupt,
                   {.spin = std::chrono::nanoseconds(0)}, segment->doorbell(1));
    segment->payload()[0] = std::byte{42};
    return status.message() == "rank 7 is gone" &&
                   segment->failure_record().epoch() == 5
               ? 0
               : 1;
  });
  EXPECT_FALSE(segment->failure_record().raised());
  EXPECT_TRUE(segment->failure_record().raise(5, "rank 7 is gone"));
  segment->doorbell(1).ring();
  EXPECT_EQ(child.exit_code(), 0);
  EXPECT_EQ(segment->payload()[0], std::byte{42});
}

TEST(FailureRecord, KeepsTheFirstReason) {
  const auto segment = solo_segment(0);
  FailureRecord& word = segment->failure_record();
  EXPECT_EQ(word.why(), "");
  std::atomic<int> first = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back(
        [&, i] { first += word.raise(i, std::string(100, 'x')); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(first.load(), 1);
  EXPECT_TRUE(word.raised());
  EXPECT_EQ(word.why(), std::string(100, 'x'));
  EXPECT_FALSE(word.raise(9, "later"));
  EXPECT_LT(word.epoch(), 4u);
}

TEST(FailureRecord, IsRaisedForTheSecondCallerToo) {
  for (int round = 0; round < 2000; ++round) {
    FailureRecord word;
    std::barrier start(2);
    const auto raise = [&] {
      start.arrive_and_wait();
      word.raise(1, std::string(FailureRecord::kTextBytes, 'x'));
      EXPECT_TRUE(word.raised());
    };
    std::thread other(raise);
    raise();
    other.join();
  }
}

TEST(FailureRecord, NamesTheSuspectsOfTheReason) {
  const auto segment = solo_segment(0);
  FailureRecord& word = segment->failure_record();
  EXPECT_EQ(word.suspects(), std::vector<int>());
  EXPECT_EQ(word.kind(), FailureKind::kOther);
  EXPECT_TRUE(
      word.raise(1, "they do not answer", {3, 700}, FailureKind::kSilentNode));
  EXPECT_EQ(word.suspects(), (std::vector<int>{3, 700}));
  EXPECT_EQ(word.kind(), FailureKind::kSilentNode);
}

TEST(FailureRecord, CutsALongText) {
  const auto segment = solo_segment(0);
  EXPECT_TRUE(segment->failure_record().raise(1, std::string(100'000, 'y'),
                                              std::vector<int>(1'000)));
  EXPECT_EQ(segment->failure_record().suspects().size(),
            FailureRecord::kMaxSuspects);
  EXPECT_EQ(segment->failure_record().why(),
            std::string(FailureRecord::kTextBytes, 'y'));
}

TEST(NodeSegment, LeavesNoFileEvenIfItsOwnerIsKilled) {
  const auto before = names_in("/dev/shm");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  ChildProcess child([&] {
    const auto segment = solo_segment(1 << 20);
    segment->payload()[0] = std::byte{1};
    if (::write(ready[1], "x", 1) != 1) return 1;
    ::pause();
    return 0;
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  child.kill(SIGKILL);
  EXPECT_EQ(child.exit_code(), -SIGKILL);
  for (const std::string& name : names_in("/dev/shm")) {
    EXPECT_TRUE(before.contains(name) || name.find("horovod") == name.npos)
        << name;
  }
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace hvd::transport
