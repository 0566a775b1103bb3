// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/thread/future.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/interruption.h"
#include "horovodpp/core/thread/promise.h"

namespace hvd {
namespace {

TEST(Future, CarriesTheValueToAnotherThread) {
  Promise<int> promise;
  const Future<int> future = promise.future();
  EXPECT_FALSE(future.poll());
  std::thread setter([promise] { promise.set(42); });
  const absl::StatusOr<int> value = future.wait();
  setter.join();
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, 42);
  EXPECT_TRUE(future.poll());
}

TEST(Future, KeepsTheFirstOutcome) {
  Promise<void> promise;
  promise.set(absl::AbortedError("first"));
  promise.set(absl::OkStatus());
  EXPECT_EQ(promise.future().wait().message(), "first");
}

// Fake work on a GPU, with a record of the waits queued behind it.
class Stream : public Enqueued {
 public:
  Status order(void* stream) const override {
    behind = stream;
    return Status();
  }
  mutable void* behind = nullptr;
};

TEST(Future, OrdersAStreamBehindPendingWork) {
  Promise<int> promise(nullptr, IfDropped::kWait);
  const auto work = std::make_shared<const Stream>();
  int stream = 0;
  {
    const Future<int> future = promise.future();
    std::thread setter([&] { promise.set_enqueued(work, 42); });
    EXPECT_EQ(*future.wait(&stream), 42);
    setter.join();
    EXPECT_EQ(work->behind, &stream);
    EXPECT_FALSE(future.poll());
    // Destroying this waits for no operation.
  }
  const Future<int> future = promise.future();
  promise.set(absl::AbortedError("the GPU is gone"));
  EXPECT_EQ(future.wait().status().message(), "the GPU is gone");
}

TEST(Future, OrdersNoStreamBehindAnError) {
  const Future<void> failed =
      Future<void>::ready(absl::AbortedError("it is gone"));
  EXPECT_EQ(failed.wait(nullptr).message(), "it is gone");
  EXPECT_TRUE(absl::IsFailedPrecondition(Future<void>().wait(nullptr)));
}

TEST(Future, FailsIfItsPromiseDiesUnset) {
  Future<int> future;
  {
    Promise<int> promise;
    future = promise.future();
  }
  EXPECT_TRUE(absl::IsCancelled(future.wait().status()));
}

// Callers that make one call at a time reuse its state.
TEST(Future, AStateWithoutFuturesIsReused) {
  struct Sets : Waiter {
    void wait(const Ready& ready) override {
      ++waits;
      if (ready) state->set(absl::AbortedError(std::to_string(waits)));
    }
    std::shared_ptr<internal::FutureStateOf<void>> state;
    int waits = 0;
  } sets;
  const auto state = sets.state =
      std::make_shared<internal::FutureStateOf<void>>(nullptr,
                                                      IfDropped::kNothing);
  for (const char* outcome : {"1", "2", "3"}) {
    state->renew(sets, IfDropped::kWait);
    const Future<void> future = Promise<void>::future_of(state);
    EXPECT_TRUE(state->has_futures());
    EXPECT_FALSE(future.poll());
    EXPECT_EQ(future.wait().message(), outcome);
    EXPECT_EQ(future.wait().message(), outcome);
    EXPECT_EQ(sets.waits, std::stoi(outcome));
  }
  EXPECT_FALSE(state->has_futures());
  // Destroying the last future waits, as for any state.
  state->renew(sets, IfDropped::kWait);
  Promise<void>::future_of(state) = Future<void>();
  EXPECT_EQ(sets.waits, 4);
}

TEST(Future, WaitingForAnEmptyFutureIsAnError) {
  EXPECT_TRUE(absl::IsFailedPrecondition(Future<void>().wait()));
}

TEST(Future, RunsEarlyAndLateCallbacksOnce) {
  Promise<std::string> promise;
  int early = 0;
  int late = 0;
  promise.future().then([&](const absl::StatusOr<std::string>& text) {
    early += text.ok() && *text == "done";
  });
  EXPECT_EQ(early, 0);
  promise.set(std::string("done"));
  promise.future().then([&](const auto& text) { late += text.ok(); });
  EXPECT_EQ(early, 1);
  EXPECT_EQ(late, 1);
}

TEST(Future, AThrowingCallbackDoesNotAffectOthers) {
  const auto seen_by_second = [](const auto& finish) {
    auto promise = std::make_unique<Promise<int>>();
    StatusCode seen = StatusCode::kUnknown;
    promise->future().then(
        [](const auto&) { throw std::runtime_error("no room"); });
    promise->future().then(
        [&](const auto& outcome) { seen = outcome.status().code(); });
    finish(promise);
    return seen;
  };
  EXPECT_EQ(seen_by_second([](auto& promise) {
              EXPECT_THROW(promise->set(7), std::runtime_error);
            }),
            StatusCode::kOk);
  EXPECT_EQ(seen_by_second([](auto& promise) { promise.reset(); }),
            StatusCode::kCancelled);
}

TEST(Future, ACallbackMayAskTheFutureItself) {
  Promise<int> promise;
  const Future<int> future = promise.future();
  int seen = 0;
  future.then([&](const auto&) { seen = *future.wait(); });
  promise.set(7);
  EXPECT_EQ(seen, 7);
}

TEST(Future, WaitForGivesUpAndLaterSucceeds) {
  Promise<void> promise;
  EXPECT_FALSE(promise.future().wait_for(std::chrono::milliseconds(1)));
  promise.set(absl::OkStatus());
  EXPECT_TRUE(promise.future().wait_for(std::chrono::milliseconds(1)));
}

TEST(Future, WaitForAcceptsTheLongestTimeout) {
  Promise<void> promise;
  std::thread setter([promise] { promise.set(absl::OkStatus()); });
  EXPECT_TRUE(promise.future().wait_for(std::chrono::nanoseconds::max()));
  setter.join();
}

TEST(Future, TakeMovesAValueThatOnlyMoves) {
  Promise<std::unique_ptr<int>> promise;
  Future<std::unique_ptr<int>> future = promise.future();
  std::thread setter([promise] { promise.set(std::make_unique<int>(5)); });
  const auto taken = future.take();
  setter.join();
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(**taken, 5);
}

TEST(Future, TakeOfAFailureReturnsItsStatus) {
  Future<std::unique_ptr<int>> future =
      Promise<std::unique_ptr<int>>().future();
  EXPECT_TRUE(absl::IsCancelled(future.take().status()));
}

TEST(Future, ReadyFromTheStartNeedsNoPromise) {
  const auto future = Future<int>::ready(3);
  EXPECT_TRUE(future.poll());
  EXPECT_EQ(*future.wait(), 3);
  EXPECT_TRUE(absl::IsAborted(
      Future<int>::ready(absl::AbortedError("no")).wait().status()));
}

TEST(Future, OutlivesAnyButTheLastCopyOfItsPromise) {
  auto first = std::make_unique<Promise<int>>();
  const Promise<int> second = *first;
  const Future<int> future = first->future();
  first.reset();
  EXPECT_FALSE(future.poll());
  second.set(1);
  EXPECT_EQ(*future.wait(), 1);
}

TEST(Future, IsDroppedByTheLastPromiseAfterCopiesAndMoves) {
  Promise<int> one;
  const Future<int> first = one.future();
  Promise<int> other = one;
  Promise<int> moved = std::move(one);
  one = other;
  other = Promise<int>();
  const Future<int> second = other.future();
  moved = other;
  EXPECT_FALSE(first.poll());
  one = std::move(moved);
  EXPECT_TRUE(absl::IsCancelled(first.wait().status()));
  EXPECT_FALSE(second.poll());
  one.set(7);
  EXPECT_EQ(*second.wait(), 7);
}

TEST(Future, KeepsItsOutcomeAfterThePromiseIsGone) {
  Future<int> future;
  {
    const Promise<int> promise;
    promise.set(9);
    future = promise.future();
  }
  EXPECT_EQ(*future.wait(), 9);
}

TEST(Future, ACallbackSeesTheEndOfAnAwaitedPromise) {
  bool cancelled = false;
  {
    const Promise<void> promise;
    promise.future().then(
        [&](const absl::Status& s) { cancelled = absl::IsCancelled(s); });
  }
  EXPECT_TRUE(cancelled);
}

TEST(Future, NotifiesItsPromiseOnceOfAWait) {
  int told = 0;
  std::optional<Promise<int>> promise;
  promise.emplace([&](const Ready&) {
    ++told;
    promise->set(5);  // Not under the future's lock.
  });
  const Future<int> future = promise->future();
  EXPECT_EQ(told, 0);
  EXPECT_EQ(*future.wait(), 5);
  EXPECT_EQ(*future.wait(), 5);
  EXPECT_EQ(told, 1);
}

TEST(Future, WaitingForAWhileIsWaiting) {
  int told = 0;
  const Promise<void> promise([&](const Ready&) { ++told; });
  EXPECT_FALSE(promise.future().wait_for(std::chrono::nanoseconds(1)));
  EXPECT_FALSE(promise.future().wait_for(std::chrono::nanoseconds(1)));
  EXPECT_EQ(told, 1);
}

TEST(Future, AFewPollsAreNoWaitAndManyAreOne) {
  int told = 0;
  const Promise<void> promise([&](const Ready&) { ++told; });
  EXPECT_FALSE(promise.future().poll());
  EXPECT_FALSE(promise.future().poll());
  EXPECT_EQ(told, 0);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(promise.future().poll());
  EXPECT_EQ(told, 1);
}

TEST(Future, AWaitForASetOutcomeNotifiesNoPromise) {
  bool told = false;
  const Promise<void> promise([&](const Ready&) { told = true; });
  promise.set(absl::OkStatus());
  EXPECT_EQ(promise.future().wait(), absl::OkStatus());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(promise.future().poll());
  EXPECT_FALSE(told);
}

TEST(Future, TheOutcomeReleasesThePromisesCallback) {
  const auto held = std::make_shared<int>(1);
  const Promise<void> promise([held](const Ready&) {});
  const Future<void> future = promise.future();
  EXPECT_EQ(held.use_count(), 2);
  promise.set(absl::OkStatus());
  EXPECT_EQ(held.use_count(), 1);
}

// Many threads copy, compare and drop the same error at once.
TEST(Future, GivesTheSameErrorToEveryThread) {
  const std::string why = "rank 3 (host 'a', pid 4711) was killed by signal 9";
  for (int round = 0; round < 100; ++round) {
    auto promise = std::make_unique<Promise<int>>();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&why, future = promise->future()]() mutable {
        const absl::Status status = future.wait().status();
        future = Future<int>();  // From here on threads share only the error.
        const std::vector<absl::Status> copies(3, status);
        EXPECT_EQ(copies.back().message(), why);
      });
    }
    promise->set(absl::UnavailableError(why));
    promise.reset();
    for (std::thread& thread : threads) thread.join();
  }
}

// The promise's operation borrows memory.
TEST(Future, TheLastCopyWaitsForBorrowedMemory) {
  std::atomic<bool> is_set{false};
  Promise<void> promise(nullptr, IfDropped::kWait);
  std::latch dropping(1);
  std::thread setter([&] {
    dropping.wait();
    is_set = true;
    promise.set(absl::OkStatus());
  });
  {
    Future<void> first = promise.future();
    Future<void> second = first;
    const Future<void> third = std::move(first);
    second = third;
    dropping.count_down();
  }
  EXPECT_TRUE(is_set);
  setter.join();
}

TEST(Future, ItsEndHelpsAsAWaitDoes) {
  int helped = 0;
  std::optional<Promise<int>> promise;
  promise.emplace(
      [&](const Ready& ready) {
        ++helped;
        if (ready) promise->set(1);
      },
      IfDropped::kWait);
  {
    const Future<int> future = promise->future();
    // A caller that polled before still gets help.
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(future.poll());
    EXPECT_EQ(helped, 1);
  }
  EXPECT_EQ(helped, 2);
}

TEST(Future, ItsEndDoesNotWaitIfItHasACallback) {
  const Promise<int> promise(nullptr, IfDropped::kWait);
  int heard = 0;
  promise.future().then([&](const auto& value) { heard = *value; });
  promise.set(3);
  EXPECT_EQ(heard, 3);
}

TEST(Future, ItsEndDoesNotWaitWithoutBorrowedMemory) {
  const Promise<int> promise([](const Ready&) { FAIL() << "was waited for"; });
  { const Future<int> dropped = promise.future(); }
  EXPECT_FALSE(promise.future().poll());
}

TEST(Future, ItsEndWaitsForNoPromiseThatIsGone) {
  Promise<int> promise(nullptr, IfDropped::kWait);
  const Future<int> future = promise.future();
  promise = Promise<int>();
  EXPECT_TRUE(absl::IsCancelled(future.wait().status()));
}

TEST(Future, AWaitThatIsInterruptedEndsWithoutTheOutcome) {
  Promise<int> promise;
  const Future<int> future = promise.future();
  const std::thread::id here = std::this_thread::get_id();
  int asked = 0;
  EXPECT_FALSE(future.wait_unless([&] {
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_FALSE(future.poll());  // No lock is held.
    return ++asked == 2;
  }));
  EXPECT_EQ(asked, 2);
  promise.set(42);
  EXPECT_TRUE(future.wait_unless([] { return true; }));
  EXPECT_EQ(*future.wait(), 42);
}

TEST(Future, AnUninterruptedWaitEndsWithTheOutcome) {
  Promise<void> promise;
  const Future<void> future = promise.future();
  bool first = true;
  EXPECT_TRUE(future.wait_unless([&] {
    if (std::exchange(first, false)) promise.set(absl::OkStatus());
    return false;
  }));
  EXPECT_TRUE(Future<void>().wait_unless([] { return true; }));
}

TEST(Future, AWaitWithATimeoutEndsWithAnErrorOrTheOutcome) {
  Promise<int> promise;
  const Future<int> future = promise.future();
  for (int i = 0; i < 2; ++i) {
    const Status status =
        future.wait_within(std::chrono::milliseconds(1)).status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    EXPECT_EQ(status.message(),
              "Timed out after 0.001 s: the operation is not done");
  }
  EXPECT_EQ(future.wait_within(1e-6, [] { return false; }), WaitEnd::kTimedOut);
  EXPECT_EQ(future.wait_within(1e6, [] { return true; }),
            WaitEnd::kInterrupted);
  promise.set(42);
  EXPECT_EQ(*future.wait_within(0), 42);
  EXPECT_EQ(*future.wait_within(std::chrono::nanoseconds::max()), 42);
}

TEST(Future, AWaitWithATimeoutLetsItsOperationExplain) {
  Promise<void> promise([](const Ready& ready) {
    EXPECT_TRUE(Interruption::here()->has_deadline());
    Interruption::here()->explain = [] { return "rank 1 is late"; };
    while (!ready()) std::this_thread::yield();
    EXPECT_TRUE(Interruption::here()->has_timed_out());
    EXPECT_FALSE(Interruption::here()->is_pressing());
  });
  EXPECT_EQ(promise.future().wait_within(0.0005).message(),
            "Timed out after 0.0005 s: rank 1 is late");
}

TEST(Future, AWaitOfAStreamCanBeInterrupted) {
  Promise<int> promise;
  const Future<int> future = promise.future();
  int asked = 0;
  EXPECT_FALSE(
      future.wait_unless(nullptr, [&] { return ++asked == 2; }).has_value());
  EXPECT_EQ(asked, 2);
  promise.set(42);
  const auto outcome = future.wait_unless(nullptr, [] { return true; });
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(**outcome, 42);
}

TEST(Future, AnUninterruptedWaitOfAStreamEndsWithTheOutcome) {
  Promise<void> promise;
  const Future<void> future = promise.future();
  bool first = true;
  const auto outcome = future.wait_unless(nullptr, [&] {
    if (std::exchange(first, false)) promise.set(absl::AbortedError("broken"));
    return false;
  });
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(absl::IsAborted(*outcome));
  const auto unconnected =
      Future<void>().wait_unless(nullptr, [] { return true; });
  EXPECT_TRUE(absl::IsFailedPrecondition(unconnected.value()));
}

TEST(Future, KnowsWhetherItWasReady) {
  EXPECT_TRUE(Future<int>::ready(1).was_ready());
  EXPECT_TRUE(Future<void>().was_ready());
  const Promise<int> promise;
  promise.set(1);
  EXPECT_FALSE(promise.future().was_ready());
}

// The helper need not work on the awaited result.
TEST(Future, AWaitIsInterruptedWhileItsThreadIsUsed) {
  bool used = false;
  Promise<void> promise([&](const Ready& ready) {
    used = true;
    while (!ready()) std::this_thread::yield();
  });
  EXPECT_FALSE(promise.future().wait_unless([] { return true; }));
  EXPECT_TRUE(used);
}

}  // namespace
}  // namespace hvd
