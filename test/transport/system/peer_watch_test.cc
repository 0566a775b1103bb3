// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/peer_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "horovodpp/core/job/rank_status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/thread/promise.h"
#include "test/support/no_threads.h"
#include "test/support/refused_call.h"
#include "test/transport/child_process.h"

namespace hvd::transport {
namespace {

std::unique_ptr<ChildProcess> sleeping_child() {
  return std::make_unique<ChildProcess>([] {
    while (true) ::pause();
    return 0;
  });
}

// The letter in /proc/pid/stat; no process name here contains a bracket.
char process_state(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  return line.at(line.rfind(')') + 2);
}

PeerWatch::Process as_rank(int rank, const ChildProcess& child) {
  return {.rank = rank, .pid = child.pid()};
}

// With and without pidfds.
class PeerWatchByAnyWay : public ::testing::TestWithParam<PeerWatch::Open> {};

INSTANTIATE_TEST_SUITE_P(Ways, PeerWatchByAnyWay,
                         ::testing::Values(WatchedProcess::open,
                                           WatchedProcess::open_for_polling),
                         [](const auto& way) {
                           return way.index == 0 ? "BestWay" : "ByLooking";
                         });

TEST_P(PeerWatchByAnyWay, SeesAnUnreapedKilledProcess) {
  const auto child = sleeping_child();
  Promise<int> lost;
  PeerWatch watch({as_rank(3, *child)}, GetParam());
  EXPECT_TRUE(watch.sees(3));
  EXPECT_FALSE(watch.sees(0));
  watch.watch([&](int rank, const std::string& how) {
    EXPECT_EQ(how, "ended without leaving the job");
    lost.set(rank);
  });
  child->kill(SIGKILL);
  EXPECT_EQ(*lost.future().wait(), 3);
  watch.watch({});
}

std::set<int> open_descriptors() {
  std::set<int> numbers;
  for (int number = 0; number < 256; ++number) {
    if (::fcntl(number, F_GETFD) >= 0) numbers.insert(number);
  }
  return numbers;
}

// Closing and reusing descriptors of a watch is a race with it, of which
// tsan.supp knows by this name.
template <typename F>
[[gnu::noinline]] int races_with_the_watch(const F& call) {
  const int result = call();
  return result;
}

// As when a library makes its process a daemon.
TEST_P(PeerWatchByAnyWay, EndsAndAccusesNoRankIfItsDescriptorsAreClosed) {
  const auto child = sleeping_child();
  const std::set<int> before = open_descriptors();
  std::atomic<int> accused = 0;
  {
    PeerWatch watch({as_rank(1, *child)}, GetParam());
    watch.watch([&](int, const std::string&) { ++accused; });
    EXPECT_TRUE(watch.has_open_descriptors());
    for (const int number : open_descriptors()) {
      if (before.contains(number)) continue;
      races_with_the_watch([&] { return ::close(number); });
    }
    EXPECT_FALSE(watch.has_open_descriptors());
    // Other files reuse the descriptors' numbers.
    char name[] = "/tmp/hvd_peer_watch_XXXXXX";
    const int file = races_with_the_watch([&] { return ::mkstemp(name); });
    ASSERT_EQ(::unlink(name), 0);
    const int same = races_with_the_watch([&] { return ::dup(file); });
    watch.watch({});
    watch.watch([&](int, const std::string&) { ++accused; });
    EXPECT_EQ(::lseek(file, 0, SEEK_END), 0);
    EXPECT_EQ(races_with_the_watch([&] { return ::close(same); }), 0);
    EXPECT_EQ(races_with_the_watch([&] { return ::close(file); }), 0);
  }
  EXPECT_EQ(accused, 0);
}

// Also if eventfds, which are all one file to fstat, reuse the numbers.
TEST_P(PeerWatchByAnyWay, ReportsItsOwnRankIfItsDescriptorsAreClosed) {
  const auto child = sleeping_child();
  const std::set<int> before = open_descriptors();
  std::set<int> reused;
  {
    PeerWatch watch({as_rank(1, *child)}, GetParam(), 7);
    Promise<std::string> lost;
    watch.watch([&](int rank, const std::string& how) {
      EXPECT_EQ(rank, 7);
      lost.set(how);
    });
    for (const int number : open_descriptors()) {
      if (before.contains(number)) continue;
      races_with_the_watch([&] { return ::close(number); });
      reused.insert(races_with_the_watch([] { return ::eventfd(0, 0); }));
    }
    EXPECT_EQ(*lost.future().wait(), kClosedDescriptors);
    EXPECT_FALSE(watch.has_open_descriptors());
    Promise<int> again;
    watch.watch([&](int rank, const std::string&) { again.set(rank); });
    EXPECT_EQ(*again.future().wait(), 7);
    watch.watch({});
  }
  // They are the program's.
  for (const int number : reused) EXPECT_EQ(::close(number), 0);
}

TEST_P(PeerWatchByAnyWay, SeesAProcessThatEndsByItself) {
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  ChildProcess child([&] {
    char byte = 0;
    return ::read(gate[0], &byte, 1) == 1 ? 0 : 1;
  });
  Promise<int> lost;
  PeerWatch watch({as_rank(1, child)}, GetParam());
  watch.watch([&](int rank, const std::string&) { lost.set(rank); });
  EXPECT_FALSE(lost.future().poll());
  ASSERT_EQ(::write(gate[1], "x", 1), 1);
  EXPECT_EQ(*lost.future().wait(), 1);
  EXPECT_EQ(child.exit_code(), 0);
  ::close(gate[0]);
  ::close(gate[1]);
}

TEST_P(PeerWatchByAnyWay, ReportsEachDeathOnceAndNoLivingRank) {
  const auto first = sleeping_child();
  const auto second = sleeping_child();
  const auto third = sleeping_child();
  Mutex mutex;
  std::multiset<int> lost;
  Promise<void> two;
  PeerWatch watch({as_rank(1, *first), as_rank(2, *second), as_rank(3, *third)},
                  GetParam());
  watch.watch([&](int rank, const std::string&) {
    MutexLock lock(mutex);
    lost.insert(rank);
    if (lost.size() == 2) two.set(absl::OkStatus());
  });
  first->kill(SIGKILL);
  third->kill(SIGKILL);
  EXPECT_TRUE(two.future().wait().ok());
  watch.watch({});
  EXPECT_EQ(lost, (std::multiset<int>{1, 3}));
}

TEST_P(PeerWatchByAnyWay, TellsALateCallbackOfEarlierLosses) {
  const auto child = sleeping_child();
  PeerWatch watch({as_rank(5, *child)}, GetParam());
  child->kill(SIGKILL);
  for (int i = 0; i < 3; ++i) {
    Promise<int> lost;
    watch.watch([&](int rank, const std::string&) { lost.set(rank); });
    EXPECT_EQ(*lost.future().wait(), 5);
    watch.watch({});
  }
}

TEST_P(PeerWatchByAnyWay, CountsAProcessThatIsGoneAsEnded) {
  ChildProcess child([] { return 0; });
  const PeerWatch::Process gone = as_rank(2, child);
  EXPECT_EQ(child.exit_code(), 0);
  Promise<int> lost;
  PeerWatch watch({gone}, GetParam());
  EXPECT_TRUE(watch.sees(2));
  watch.watch([&](int rank, const std::string&) { lost.set(rank); });
  EXPECT_EQ(*lost.future().wait(), 2);
}

TEST_P(PeerWatchByAnyWay, AnEmptyCallbackStopsCalls) {
  for (int i = 0; i < 20; ++i) {
    const auto child = sleeping_child();
    std::atomic<bool> ended = false;
    PeerWatch watch({as_rank(1, *child)}, GetParam());
    watch.watch([&](int, const std::string&) { EXPECT_FALSE(ended.load()); });
    child->kill(SIGKILL);
    watch.watch({});
    ended.store(true);
  }
}

TEST(PeerWatch, ReportsItsCaveats) {
  const auto child = sleeping_child();
  const PeerWatch looking({as_rank(1, *child)},
                          WatchedProcess::open_for_polling);
  EXPECT_NE(looking.caveat().find("pidfd_open"), std::string::npos);
  EXPECT_TRUE(looking.sees(1));
  // A process that this one cannot see.
  const PeerWatch blind({as_rank(1, *child)}, [](std::int64_t) {
    return WatchedProcess::unwatchable();
  });
  EXPECT_NE(blind.caveat().find("cannot see"), std::string::npos);
  EXPECT_FALSE(blind.sees(1));
  EXPECT_EQ(PeerWatch({}).caveat(), "");
}

TEST(PeerWatch, IsAnErrorWithoutAThread) {
  const auto child = sleeping_child();
  const NoThreads none;
  PeerWatch watch({as_rank(1, *child)});
  EXPECT_TRUE(absl::IsResourceExhausted(watch.status())) << watch.status();
  EXPECT_FALSE(watch.sees(1));
  watch.watch([](int, const std::string&) { ADD_FAILURE(); });
}

TEST(WatchedProcess, IsPolledIfAFilterRefusesItsDescriptor) {
  for (const int error : {EPERM, ENOSYS}) {
    ChildProcess child([&] {
      if (!refuse_call(SYS_pidfd_open, error)) return 2;
      const WatchedProcess parent = WatchedProcess::open(::getppid());
      return parent.way() == WatchedProcess::Way::kPolled && !parent.has_ended()
                 ? 0
                 : 1;
    });
    const int code = child.exit_code();
    if (code == 2)
      GTEST_SKIP() << "no filters of system calls are allowed here";
    EXPECT_EQ(code, 0) << error;
  }
}

TEST(WatchedProcess, GoesOnWithoutItsFirstThread) {
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  ChildProcess child([&]() -> int {
    std::thread([&] {
      char byte = 0;
      ::_exit(::read(gate[0], &byte, 1) == 1 ? 0 : 1);
    }).detach();
    ::syscall(SYS_exit, 0);  // Ends the thread, not the process.
    return 1;
  });
  const WatchedProcess process = WatchedProcess::open_for_polling(child.pid());
  while (process_state(child.pid()) != 'Z') std::this_thread::yield();
  EXPECT_FALSE(process.has_ended());
  ASSERT_EQ(::write(gate[1], "x", 1), 1);
  EXPECT_EQ(child.exit_code(), 0);
  EXPECT_TRUE(process.has_ended());
  ::close(gate[0]);
  ::close(gate[1]);
}

TEST(PeerWatch, OfNoRanksIsQuiet) {
  PeerWatch watch({});
  watch.watch([](int, const std::string&) { ADD_FAILURE(); });
  watch.watch({});
}

}  // namespace
}  // namespace hvd::transport
