#include "horovodpp/core/future.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

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

TEST(Future, TheFirstOutcomeStands) {
  Promise<void> promise;
  promise.set(absl::AbortedError("first"));
  promise.set(absl::OkStatus());
  EXPECT_EQ(promise.future().wait().message(), "first");
}

TEST(Future, FailsIfItsPromiseDiesUnset) {
  Future<int> future;
  {
    Promise<int> promise;
    future = promise.future();
  }
  EXPECT_TRUE(absl::IsCancelled(future.wait().status()));
}

TEST(Future, OfNothingIsAnErrorAndNotAHang) {
  EXPECT_TRUE(absl::IsFailedPrecondition(Future<void>().wait()));
}

TEST(Future, RunsCallbacksOnceWheneverTheyWereAdded) {
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

}  // namespace
}  // namespace hvd
