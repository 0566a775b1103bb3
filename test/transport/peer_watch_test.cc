#include "horovodpp/transport/peer_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>

#include "horovodpp/core/future.h"
#include "horovodpp/core/mutex.h"
#include "test/transport/child_process.h"

namespace hvd::transport {
namespace {

std::unique_ptr<ChildProcess> sleeping_child() {
  return std::make_unique<ChildProcess>([] {
    while (true) ::pause();
    return 0;
  });
}

PeerWatch::Process as_rank(int rank, const ChildProcess& child) {
  return {.rank = rank, .pid = child.pid()};
}

TEST(PeerWatch, SeesAKilledProcessThoughNobodyReapedIt) {
  const auto child = sleeping_child();
  Promise<int> lost;
  PeerWatch watch({as_rank(3, *child)});
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

TEST(PeerWatch, SeesAProcessThatEndsByItself) {
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  ChildProcess child([&] {
    char byte = 0;
    return ::read(gate[0], &byte, 1) == 1 ? 0 : 1;
  });
  Promise<int> lost;
  PeerWatch watch({as_rank(1, child)});
  watch.watch([&](int rank, const std::string&) { lost.set(rank); });
  EXPECT_FALSE(lost.future().poll());
  ASSERT_EQ(::write(gate[1], "x", 1), 1);
  EXPECT_EQ(*lost.future().wait(), 1);
  EXPECT_EQ(child.exit_code(), 0);
  ::close(gate[0]);
  ::close(gate[1]);
}

TEST(PeerWatch, TellsOfEachOnceAndOfTheLivingNot) {
  const auto first = sleeping_child();
  const auto second = sleeping_child();
  const auto third = sleeping_child();
  Mutex mutex;
  std::multiset<int> lost;
  Promise<void> two;
  PeerWatch watch(
      {as_rank(1, *first), as_rank(2, *second), as_rank(3, *third)});
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

TEST(PeerWatch, TellsALateCallbackWhatHappenedBefore) {
  const auto child = sleeping_child();
  PeerWatch watch({as_rank(5, *child)});
  child->kill(SIGKILL);
  for (int i = 0; i < 3; ++i) {
    Promise<int> lost;
    watch.watch([&](int rank, const std::string&) { lost.set(rank); });
    EXPECT_EQ(*lost.future().wait(), 5);
    watch.watch({});
  }
}

TEST(PeerWatch, CountsAProcessThatIsGoneAsEnded) {
  ChildProcess child([] { return 0; });
  const PeerWatch::Process gone = as_rank(2, child);
  EXPECT_EQ(child.exit_code(), 0);
  Promise<int> lost;
  PeerWatch watch({gone});
  EXPECT_TRUE(watch.sees(2));
  watch.watch([&](int rank, const std::string&) { lost.set(rank); });
  EXPECT_EQ(*lost.future().wait(), 2);
}

TEST(PeerWatch, AfterAnEmptyCallbackNoneRuns) {
  for (int i = 0; i < 20; ++i) {
    const auto child = sleeping_child();
    std::atomic<bool> ended = false;
    PeerWatch watch({as_rank(1, *child)});
    watch.watch([&](int, const std::string&) { EXPECT_FALSE(ended.load()); });
    child->kill(SIGKILL);
    watch.watch({});
    ended.store(true);
  }
}

TEST(PeerWatch, OfNobodyIsQuiet) {
  PeerWatch watch({});
  watch.watch([](int, const std::string&) { ADD_FAILURE(); });
  watch.watch({});
}

}  // namespace
}  // namespace hvd::transport
