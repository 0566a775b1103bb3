// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tensor_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;

class TensorQueueTest : public ::testing::Test {
 protected:
  static Key key(const std::string& name, ProcessSetId set = kGlobalSet) {
    return {.process_set = set, .name = name};
  }
  SubmissionPtr submission(const Key& key) {
    auto s = std::make_shared<Submission>();
    s->request.key = key;
    s->done = [this, key](const absl::StatusOr<Results>& outcome) {
      EXPECT_TRUE(outcomes_.emplace(key, outcome.status()).second);
    };
    return s;
  }
  absl::Status push(const std::string& name, ProcessSetId set = kGlobalSet) {
    const SubmissionPtr mine = submission(key(name, set));
    const absl::Status pushed = queue_.push(mine).status();
    if (pushed.ok()) pushed_[name] = mine;
    return pushed;
  }
  absl::StatusOr<std::vector<SubmissionPtr>> take(
      const std::vector<std::string>& names) {
    Batch batch;
    for (const std::string& name : names) {
      batch.entries.push_back({.mine = pushed_[name].get()});
    }
    std::vector<SubmissionPtr> taken;
    const absl::Status status = queue_.take(batch, taken);
    if (!status.ok()) return status;
    return taken;
  }
  std::vector<SubmissionPtr> take_all(std::vector<SubmissionPtr> mine) {
    Batch batch;
    for (const SubmissionPtr& one : mine) {
      batch.entries.push_back({.mine = one.get()});
    }
    std::vector<SubmissionPtr> taken;
    EXPECT_TRUE(queue_.take(batch, taken).ok());
    return taken;
  }
  std::vector<std::string> take_unsent() {
    std::vector<std::string> names;
    for (const auto& s : take_changes().unsent) {
      names.push_back(s->request.key.name);
    }
    return names;
  }
  TensorQueue::Changes take_changes() {
    TensorQueue::Changes changes = {.unsent = {nullptr},
                                    .waited_for = {key("old")}};
    queue_.take_changes(changes);
    return changes;
  }
  absl::Status outcome_of(const std::string& name) {
    const auto found = outcomes_.find(key(name));
    return found == outcomes_.end() ? absl::UnknownError("has none")
                                    : found->second;
  }

  TensorQueue queue_;
  std::map<std::string, SubmissionPtr> pushed_;  // The last of each name.
  std::map<Key, absl::Status> outcomes_;
};

TEST_F(TensorQueueTest, HandsRequestsOutOnceAndInOrder) {
  for (const char* name : {"b", "a", "c"}) ASSERT_TRUE(push(name).ok());
  EXPECT_THAT(take_unsent(), ElementsAre("b", "a", "c"));
  EXPECT_TRUE(take_unsent().empty());
}

TEST_F(TensorQueueTest, SubmissionsOfOneNameFollowEachOther) {
  ASSERT_TRUE(push("a").ok());
  const SubmissionPtr first = pushed_["a"];
  std::vector<SubmissionPtr> later;
  for (std::size_t rows : {2u, 3u}) {
    later.push_back(submission(key("a")));
    later.back()->request.tensors.resize(rows);
    EXPECT_FALSE(*queue_.push(later.back()));
  }
  EXPECT_THAT(take_unsent(), ElementsAre("a"));
  for (SubmissionPtr before = first; const SubmissionPtr& next : later) {
    EXPECT_TRUE(queue_.holds(*next));
    EXPECT_FALSE(queue_.has_changes());
    queue_.release(take_all({before}));
    EXPECT_TRUE(queue_.has_changes());
    const TensorQueue::Changes changes = take_changes();
    EXPECT_THAT(changes.unsent, ElementsAre(next.get()));
    // A caller may wait already.
    EXPECT_THAT(changes.waited_for, ElementsAre(key("a")));
    before = next;
  }
  queue_.release(take_all({later.back()}));
  EXPECT_FALSE(queue_.has_changes());
  EXPECT_FALSE(queue_.holds(*later.back()));
}

TEST_F(TensorQueueTest, FollowersOfAClosedQueueFail) {
  ASSERT_TRUE(push("a").ok());
  const auto taken = take({"a"});
  int failed = 0;
  const auto fail = [&](const absl::StatusOr<Results>& outcome) {
    EXPECT_EQ(outcome.status().message(), "rank 1 died");
    ++failed;
  };
  for (int i = 0; i < 2; ++i) {
    const SubmissionPtr follower = submission(key("a"));
    follower->done = fail;
    ASSERT_TRUE(queue_.push(follower).ok());
  }
  queue_.close(absl::AbortedError("rank 1 died"));
  EXPECT_EQ(failed, 2);
  EXPECT_TRUE(absl::IsAborted(push("a")));
  queue_.release(*taken);
  EXPECT_EQ(failed, 2);
}

TEST_F(TensorQueueTest, NamesSubmissionsInFlight) {
  EXPECT_TRUE(queue_.in_flight(4).empty());
  ASSERT_TRUE(push("a").ok() && push("b", 2).ok());
  take_unsent();
  std::set<Key> keys;
  for (const TensorQueue::InFlight& one : queue_.in_flight(4)) {
    keys.insert(one.key);
  }
  EXPECT_THAT(keys, ElementsAre(key("a"), key("b", 2)));
  EXPECT_EQ(queue_.in_flight(1).size(), 1u);
  const auto taken = take({"a"});
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(queue_.in_flight(4).size(), 2u);
  queue_.release(*taken);
  ASSERT_EQ(queue_.in_flight(4).size(), 1u);
  EXPECT_EQ(queue_.in_flight(4)[0].key, key("b", 2));
}

TEST_F(TensorQueueTest, ReportsWhetherAPushMustWake) {
  const auto wakes = [&](const std::string& name) {
    return *queue_.push(submission(key(name)));
  };
  EXPECT_TRUE(wakes("a"));
  // The doorbell has already rung.
  EXPECT_FALSE(wakes("b"));
  EXPECT_TRUE(queue_.wake_at(2));
  EXPECT_FALSE(queue_.wake_at(4));
  EXPECT_FALSE(wakes("c"));
  EXPECT_TRUE(wakes("d"));
  EXPECT_FALSE(wakes("e"));
  EXPECT_EQ(take_unsent().size(), 5u);
  EXPECT_TRUE(wakes("f"));
}

TEST_F(TensorQueueTest, AnImmediateWaiterLeavesTheWakeToOthers) {
  EXPECT_FALSE(*queue_.push(submission(key("a")), true));
  EXPECT_TRUE(*queue_.push(submission(key("b"))));
  EXPECT_FALSE(*queue_.push(submission(key("c"))));
}

// A sleeper that wakes and sleeps again needs a new ring.
TEST_F(TensorQueueTest, ARepeatedSleepNeedsANewWake) {
  ASSERT_TRUE(*queue_.push(submission(key("a"))));
  EXPECT_EQ(take_unsent().size(), 1u);
  EXPECT_FALSE(queue_.wake_at(2));
  EXPECT_FALSE(*queue_.push(submission(key("b"))));
  EXPECT_TRUE(*queue_.push(submission(key("c"))));
  EXPECT_TRUE(queue_.wake_at(2));
  EXPECT_TRUE(*queue_.push(submission(key("d"))));
}

TEST_F(TensorQueueTest, EqualNamesOfDifferentProcessSetsAreTwoNames) {
  ASSERT_TRUE(push("a").ok());
  ASSERT_TRUE(push("a", 2).ok());
  EXPECT_EQ(take_unsent().size(), 2u);
}

TEST_F(TensorQueueTest, ANameIsFreeAgainOnceItsSubmissionIsReleased) {
  ASSERT_TRUE(push("a").ok());
  const auto taken = take({"a"});
  ASSERT_EQ(taken->size(), 1u);
  EXPECT_TRUE(absl::IsNotFound(take({"a"}).status()));
  take_unsent();
  ASSERT_TRUE(push("a").ok());
  EXPECT_TRUE(take_unsent().empty());
  queue_.release(*taken);
  EXPECT_THAT(take_unsent(), ElementsAre("a"));
  queue_.release(*taken);
  EXPECT_TRUE(queue_.holds(*pushed_["a"]));
}

TEST_F(TensorQueueTest, SubmissionsPutBackAreInFlight) {
  ASSERT_TRUE(push("a").ok());
  queue_.put_back(*take({"a"}));
  EXPECT_TRUE(queue_.holds(*pushed_["a"]));
  EXPECT_EQ(take({"a"})->size(), 1u);
}

TEST_F(TensorQueueTest, SubmissionsPutBackAfterCloseFail) {
  ASSERT_TRUE(push("a").ok());
  const auto taken = take({"a"});
  queue_.close(absl::AbortedError("rank 1 died"));
  EXPECT_TRUE(outcomes_.empty());
  queue_.put_back(*taken);
  EXPECT_EQ(outcome_of("a").message(), "rank 1 died");
}

TEST_F(TensorQueueTest, HoldsASubmissionUntilTaken) {
  ASSERT_TRUE(push("a").ok());
  const auto taken = take({"a"});
  EXPECT_FALSE(queue_.holds(*taken->front()));
  queue_.put_back(*taken);
  EXPECT_TRUE(queue_.holds(*taken->front()));
  ASSERT_TRUE(take({"a"}).ok());
  queue_.release(*taken);
  // Another submission has the name now.
  ASSERT_TRUE(push("a").ok());
  EXPECT_FALSE(queue_.holds(*taken->front()));
}

TEST_F(TensorQueueTest, GivesSubmissionsInTheRequestedOrder) {
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(push(name).ok());
  const auto taken = take({"c", "a"});
  ASSERT_TRUE(taken.ok());
  ASSERT_EQ(taken->size(), 2u);
  EXPECT_EQ((*taken)[0]->request.key.name, "c");
  EXPECT_EQ((*taken)[1]->request.key.name, "a");
  EXPECT_TRUE(take({"b"}).ok());
}

TEST_F(TensorQueueTest, ReportsAwaitedKeysInFlight) {
  ASSERT_TRUE(push("a").ok());
  ASSERT_TRUE(push("b").ok());
  queue_.wait_for(key("b"));
  queue_.wait_for(key("a"));
  queue_.wait_for(key("unknown"));
  queue_.release(*take({"b"}));
  EXPECT_THAT(take_changes().waited_for, ElementsAre(key("a")));
  EXPECT_TRUE(take_changes().waited_for.empty());
}

// The waiting thread does not announce the wait again.
TEST_F(TensorQueueTest, ReportsAwaitedKeysOfTakenSubmissions) {
  for (const char* name : {"a", "b"}) ASSERT_TRUE(push(name).ok());
  queue_.wait_for(key("a"));
  auto taken = take({"a", "b"});
  queue_.wait_for(key("b"));
  queue_.put_back(*std::move(taken));
  EXPECT_THAT(take_changes().waited_for, ElementsAre(key("a"), key("b")));
}

TEST_F(TensorQueueTest, AWaitIsNotForTheNextOfItsName) {
  ASSERT_TRUE(push("a").ok());
  queue_.wait_for(key("a"));
  const auto taken = take({"a"});
  ASSERT_TRUE(taken.ok());
  queue_.release(*taken);
  ASSERT_TRUE(push("a").ok());
  EXPECT_TRUE(take_changes().waited_for.empty());
}

TEST_F(TensorQueueTest, FailsOneSubmission) {
  ASSERT_TRUE(push("a").ok());
  ASSERT_TRUE(push("b").ok());
  queue_.fail(pushed_["a"].get(), absl::InvalidArgumentError("no"));
  queue_.fail(pushed_["a"].get(), absl::InvalidArgumentError("again"));
  queue_.fail(nullptr, absl::InvalidArgumentError("no"));
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcome_of("a").message(), "no");
}

TEST_F(TensorQueueTest, ClosingFailsAllPendingAndLaterWithTheFirstReason) {
  ASSERT_TRUE(push("a").ok());
  ASSERT_TRUE(push("b").ok());
  queue_.wait_for(key("b"));
  queue_.close(absl::AbortedError("rank 1 died"));
  queue_.close(absl::CancelledError("later"));
  EXPECT_EQ(outcome_of("a").message(), "rank 1 died");
  EXPECT_EQ(outcome_of("b").message(), "rank 1 died");
  EXPECT_EQ(push("c").message(), "rank 1 died");
  EXPECT_EQ(take({"a"}).status().message(), "rank 1 died");
  const TensorQueue::Changes changes = take_changes();
  EXPECT_TRUE(changes.unsent.empty());
  EXPECT_TRUE(changes.waited_for.empty());
}

TEST_F(TensorQueueTest, ACompletionMayPushAgain) {
  const SubmissionPtr s = submission(key("a"));
  absl::Status again;
  s->done = [&](const absl::StatusOr<Results>&) { again = push("a"); };
  ASSERT_TRUE(queue_.push(s).ok());
  queue_.fail(s.get(), absl::InternalError("x"));
  EXPECT_TRUE(again.ok());
}

// Otherwise the wait would seem to be for a tensor that the program has yet to
// submit.
TEST_F(TensorQueueTest, EarlierPushesAreReportedBeforeAWait) {
  constexpr int kSteps = 300;
  std::thread program([&] {
    for (int step = 0; step < kSteps; ++step) {
      for (const char* part : {"/a", "/b"}) {
        ASSERT_TRUE(push(std::to_string(step) + part).ok());
      }
      queue_.wait_for(key(std::to_string(step) + "/a"));
    }
  });
  int waits = 0;
  std::set<Key> heard_of;
  while (waits < kSteps) {
    const TensorQueue::Changes changes = take_changes();
    for (const auto& s : changes.unsent) heard_of.insert(s->request.key);
    for (const Key& of : changes.waited_for) {
      EXPECT_TRUE(heard_of.contains(key(std::to_string(waits++) + "/b")));
      EXPECT_TRUE(heard_of.contains(of));
    }
  }
  program.join();
}

TEST_F(TensorQueueTest, ANamedSubmissionIsPushedRepeatedly) {
  const SubmissionPtr kept = submission(key("a"));
  queue_.keep_name(*kept);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(queue_.push(kept).ok());
    EXPECT_THAT(take_unsent(), ElementsAre("a"));
    ASSERT_TRUE(push("a").ok());
    queue_.release(take_all({kept}));
    EXPECT_THAT(take_unsent(), ElementsAre("a"));
    queue_.release(*take({"a"}));
  }
  queue_.drop_name(*kept);
  EXPECT_TRUE(push("a").ok());
}

// Thousands of names pass through.
TEST_F(TensorQueueTest, KnowsNamesInFlightAfterManyNames) {
  ASSERT_TRUE(push("first").ok());
  for (int i = 0; i < 20000; ++i) {
    const std::string name = "t" + std::to_string(i);
    ASSERT_TRUE(push(name).ok());
    const auto taken = take({name});
    ASSERT_TRUE(taken.ok());
    queue_.release(*taken);
  }
  EXPECT_TRUE(queue_.holds(*pushed_["first"]));
  EXPECT_TRUE(take({"first"}).ok());
}

// Pushes race with the close: each submission is refused or failed.
TEST_F(TensorQueueTest, RacesOfPushAndCloseLoseNoSubmission) {
  for (int round = 0; round < 300; ++round) {
    TensorQueue queue;
    std::atomic<int> failed{0};
    int refused = 0;
    std::vector<SubmissionPtr> kept;
    for (const char* name : {"a", "b", "c", "d"}) {
      kept.push_back(std::make_shared<Submission>());
      kept.back()->request.key.name = name;
      kept.back()->done = [&](const absl::StatusOr<Results>&) { ++failed; };
      queue.keep_name(*kept.back());
    }
    std::thread program([&] {
      for (const SubmissionPtr& s : kept) refused += !queue.push(s).ok();
    });
    queue.close(absl::CancelledError("closed"));
    program.join();
    EXPECT_EQ(failed + refused, 4);
  }
}

// The driving thread sleeps until a push rings. Some pushes leave the ring to
// others.
TEST_F(TensorQueueTest, NoSubmissionIsUnsentWhileTheDriverSleeps) {
  constexpr int kEach = 20'000;
  std::atomic<int> rings{0};
  std::atomic<int> answered{0};
  std::atomic<bool> is_over{false};
  int told = 0;
  std::thread driver([&] {
    TensorQueue::Changes changes;
    while (!is_over) {
      const int heard = rings.load();
      while (queue_.has_changes() || queue_.wake_at(1)) {
        queue_.take_changes(changes);
        told += static_cast<int>(changes.unsent.size());
      }
      answered = heard;
      rings.wait(heard);
    }
  });
  const auto ring = [&] {
    ++rings;
    rings.notify_one();
  };
  const auto push_many = [&](const std::string& who, bool wait_at_once) {
    for (int i = 0; i < kEach; ++i) {
      const auto s = std::make_shared<Submission>();
      s->request.key.name = who + std::to_string(i);
      s->done = [](const auto&) {};
      // The last push rings.
      if (*queue_.push(s, wait_at_once && i + 1 < kEach)) ring();
    }
  };
  std::thread first([&] { push_many("a", false); });
  std::thread second([&] { push_many("b", true); });
  std::thread third([&] { push_many("c", false); });
  for (std::thread* const thread : {&first, &second, &third}) thread->join();
  while (answered != rings) std::this_thread::yield();
  EXPECT_FALSE(queue_.has_changes());
  is_over = true;
  ring();
  driver.join();
  EXPECT_EQ(told, 3 * kEach);
}

// Two threads push under one name while a third executes; then the queue closes.
TEST_F(TensorQueueTest, NoFollowerIsLostInARace) {
  constexpr int kEach = 2'000;
  std::atomic<int> released{0};
  std::atomic<int> failed{0};
  std::vector<int> order;
  const auto push_many = [&](int first) {
    for (int i = first; i < first + kEach; ++i) {
      const auto s = std::make_shared<Submission>();
      s->request.key.name = "a";
      s->request.root = i;
      s->done = [&](const absl::StatusOr<Results>&) { ++failed; };
      if (!queue_.push(s).ok()) s->done(absl::CancelledError(""));
    }
  };
  std::thread first([&] { push_many(0); });
  std::thread second([&] { push_many(kEach); });
  while (released < kEach) {
    for (Submission* const submission : take_changes().unsent) {
      Batch batch;
      batch.entries.push_back({.mine = submission});
      std::vector<SubmissionPtr> mine;
      ASSERT_TRUE(queue_.take(batch, mine).ok());
      order.push_back(submission->request.root);
      ++released;
      queue_.release(mine);
    }
  }
  queue_.close(absl::CancelledError("closed"));
  first.join();
  second.join();
  EXPECT_EQ(released + failed, 2 * kEach);
  std::vector<int> of_first;
  for (int i : order) {
    if (i < kEach) of_first.push_back(i);
  }
  EXPECT_TRUE(std::is_sorted(of_first.begin(), of_first.end()));
}

// Each submission gets exactly one outcome.
TEST_F(TensorQueueTest, EachSubmissionHasOneOutcome) {
  constexpr int kEach = 500;
  std::atomic<int> taken{0};
  std::atomic<int> done{0};
  const auto push_many = [&](int first) {
    for (int i = first; i < first + kEach; ++i) {
      const auto s = std::make_shared<Submission>();
      s->request.key.name = std::to_string(i);
      s->done = [&](const absl::StatusOr<Results>&) { ++done; };
      if (!queue_.push(s).ok()) s->done(absl::CancelledError(""));
    }
  };
  std::thread first([&] { push_many(0); });
  std::thread second([&] { push_many(kEach); });
  for (int seen = 0; seen < kEach;) {
    for (Submission* const submission : take_changes().unsent) {
      ++seen;
      Batch batch;
      batch.entries.push_back({.mine = submission});
      std::vector<SubmissionPtr> mine;
      if (!queue_.take(batch, mine).ok()) continue;
      queue_.release(mine);
      ++taken;
    }
  }
  queue_.close(absl::CancelledError("closed"));
  first.join();
  second.join();
  EXPECT_EQ(taken + done, 2 * kEach);
}

TEST_F(TensorQueueTest, TakingAtOnceMakesNoNews) {
  const SubmissionPtr once = submission(key("a"));
  EXPECT_FALSE(queue_.take_at_once(*once));
  const SubmissionPtr kept = submission(key("a"));
  queue_.keep_name(*kept);
  ASSERT_TRUE(queue_.take_at_once(*kept));
  EXPECT_FALSE(queue_.take_at_once(*kept));
  EXPECT_FALSE(queue_.has_changes());
  EXPECT_FALSE(queue_.holds(*kept));
  ASSERT_TRUE(push("a").ok());
  EXPECT_FALSE(queue_.has_changes());
  queue_.release(*kept);
  EXPECT_THAT(take_unsent(), ElementsAre("a"));
  EXPECT_FALSE(queue_.take_at_once(*kept));
  ASSERT_TRUE(take({"a"}).ok());
  queue_.release({pushed_["a"]});
  queue_.drop_name(*kept);
  EXPECT_TRUE(outcomes_.empty());
}

TEST_F(TensorQueueTest, ASubmissionTakenAtOnceCanStayInFlight) {
  const SubmissionPtr kept = submission(key("a"));
  queue_.keep_name(*kept);
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(queue_.take_at_once(*kept));
    queue_.leave_in_flight(kept);
    EXPECT_TRUE(queue_.holds(*kept));
    EXPECT_FALSE(queue_.has_changes());
    queue_.wait_for(key("a"));
    EXPECT_THAT(take_changes().waited_for, ElementsAre(key("a")));
    pushed_["a"] = kept;
    ASSERT_TRUE(take({"a"}).ok());
    queue_.release({kept});
  }
  ASSERT_TRUE(queue_.take_at_once(*kept));
  queue_.leave_in_flight(kept);
  queue_.close(absl::AbortedError("broken"));
  EXPECT_EQ(outcome_of("a").message(), "broken");
  queue_.drop_name(*kept);
}

}  // namespace
}  // namespace hvd::coordinator
