// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/distributed/future_map.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "absl/status/status.h"

namespace hvd::distributed {
namespace {

TEST(FutureMap, AppliesTheFunctionToAValueNowOrLater) {
  const auto twice = [](int number) { return 2 * number; };
  EXPECT_EQ(*map<int>(Future<int>::ready(4), twice).wait(), 8);
  Promise<int> promise;
  const Future<int> later = map<int>(promise.future(), twice);
  EXPECT_FALSE(later.poll());
  promise.set(21);
  EXPECT_EQ(*later.wait(), 42);
  bool ran = false;
  EXPECT_EQ(
      map<void>(Future<void>::ready(Status()), [&] { ran = true; }).wait(),
      absl::OkStatus());
  EXPECT_TRUE(ran);
}

TEST(FutureMap, PassesErrorsBy) {
  const Status broken(StatusCode::kAborted, "rank 1 died");
  const auto never = [](int) -> int { throw std::logic_error("was called"); };
  EXPECT_EQ(map<int>(Future<int>::ready(broken), never).wait().status(),
            broken);
  Promise<void> promise;
  const Future<void> later = map<void>(promise.future(), [] {});
  promise.set(broken);
  EXPECT_EQ(later.wait(), broken);
}

TEST(FutureMap, ReturnsAnExceptionAsAnError) {
  const Future<int> one = Future<int>::ready(1);
  EXPECT_EQ(map<int>(one,
                     [](int) -> int {
                       throw Error(Status(StatusCode::kNotFound, "gone"));
                     })
                .wait()
                .status()
                .code(),
            StatusCode::kNotFound);
  EXPECT_EQ(map<int>(one, [](int) -> int { throw std::bad_alloc(); })
                .wait()
                .status()
                .code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(map<int>(one, [](int) -> int { throw std::logic_error("odd"); })
                .wait()
                .status()
                .message(),
            "odd");
}

TEST(FutureMap, AWaitHelpsTheSource) {
  Promise<int>* supplier = nullptr;
  Promise<int> promise([&](const Ready& ready) {
    if (ready) supplier->set(5);
  });
  supplier = &promise;
  const Future<int> mapped =
      map<int>(promise.future(), [](int number) { return number + 1; });
  EXPECT_FALSE(mapped.wait_for(0));
  EXPECT_EQ(*mapped.wait(), 6);
}

}  // namespace
}  // namespace hvd::distributed
