// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/node/liveness_locks.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/thread/promise.h"
#include "test/transport/child_process.h"

namespace hvd::transport {
namespace {

constexpr int kRanks = 3;

bool can_wait_for_several() {
  return ::syscall(449, nullptr, 0, 0, nullptr, 0) == -1 && errno != ENOSYS &&
         errno != EPERM;
}

// Memory of forked processes: the lines, and the number of ranks that have
// started.
struct SharedLines {
  SharedLines()
      : memory(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~SharedLines() { ::munmap(memory, kBytes); }

  std::span<std::byte> lines() const {
    return {static_cast<std::byte*>(memory),
            LivenessLocks::bytes_needed(kRanks)};
  }
  std::atomic<int>& came() const {
    return *reinterpret_cast<std::atomic<int>*>(
        static_cast<std::byte*>(memory) + kBytes - sizeof(std::atomic<int>));
  }
  void wait_for(int number) const {
    while (came().load() < number) ::usleep(100);
  }

  static constexpr std::size_t kBytes = 1 << 16;
  void* const memory;
};

// A rank that holds its line until it is killed or gets SIGUSR1.
std::unique_ptr<ChildProcess> rank_in_a_child(const SharedLines& shared,
                                              int rank) {
  return std::make_unique<ChildProcess>([&shared, rank] {
    sigset_t told_to_go;
    ::sigemptyset(&told_to_go);
    ::sigaddset(&told_to_go, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &told_to_go, nullptr);
    Promise<int> first;
    LivenessLocks lines(shared.lines(), rank, kRanks,
                        [&](int dead) { first.set(dead); });
    shared.came().fetch_add(1);
    int signal = 0;
    ::sigwait(&told_to_go, &signal);
    return 0;
  });
}

TEST(LivenessLocks, TellEachDeathOnceAndNoLeave) {
  if (!can_wait_for_several()) GTEST_SKIP() << "needs futex_waitv";
  const SharedLines shared;
  const auto killed = rank_in_a_child(shared, 1);
  const auto leaves = rank_in_a_child(shared, 2);
  shared.wait_for(2);
  leaves->kill(SIGUSR1);
  EXPECT_EQ(leaves->exit_code(), 0);
  Promise<int> told;
  std::atomic<int> times = 0;
  LivenessLocks lines(shared.lines(), 0, kRanks, [&](int rank) {
    ++times;
    told.set(rank);
  });
  killed->kill(SIGKILL);
  const auto rank = told.future().wait();
  ASSERT_TRUE(rank.ok());
  EXPECT_EQ(*rank, 1);
  EXPECT_EQ(killed->exit_code(), -SIGKILL);
  EXPECT_EQ(times, 1);
}

// A death before the first wait is seen, too. All waiting ranks hear of one
// death, although the kernel wakes only one.
TEST(LivenessLocks, TellAllWaitersOfAnEarlierDeath) {
  if (!can_wait_for_several()) GTEST_SKIP() << "needs futex_waitv";
  const SharedLines shared;
  const auto child = rank_in_a_child(shared, 1);
  shared.wait_for(1);
  std::vector<Promise<int>> told(3);
  LivenessLocks first(shared.lines(), 0, kRanks,
                      [&](int r) { told[0].set(r); });
  LivenessLocks second(shared.lines(), 2, kRanks,
                       [&](int r) { told[1].set(r); });
  child->kill(SIGKILL);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(*told[static_cast<std::size_t>(i)].future().wait(), 1);
  }
  std::optional<LivenessLocks> late;
  late.emplace(shared.lines(), 0, kRanks, [&](int r) { told[2].set(r); });
  EXPECT_EQ(*told[2].future().wait(), 1);
}

TEST(LivenessLocks, OfThreadsEndWhileOthersGoOn) {
  const SharedLines shared;
  const auto fails = [](int rank) { ADD_FAILURE() << rank; };
  const LivenessLocks stays(shared.lines(), 0, kRanks, fails);
  std::vector<std::thread> ranks;
  for (const int rank : {1, 2}) {
    ranks.emplace_back([&shared, &fails, rank] {
      for (int round = 0; round < 50; ++round) {
        const LivenessLocks comes_and_goes(shared.lines(), rank, kRanks, fails);
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(LivenessLocks, OfOneRankHaveNoThread) {
  const SharedLines shared;
  const LivenessLocks alone(shared.lines(), 0, 1, nullptr);
}

}  // namespace
}  // namespace hvd::transport
