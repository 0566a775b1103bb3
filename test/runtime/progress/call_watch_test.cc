// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/call_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>

namespace hvd::runtime {
namespace {

using transport::CallMeter;

class CallWatchTest : public testing::Test {
 protected:
  // The number of looks until the watch reports a call; 0: not within `most`.
  int looks_until_caught(int most = 100) {
    for (int looks = 1; looks <= most; ++looks) {
      if (watch_.poll()) return looks;
    }
    return 0;
  }

  CallMeter calls_;
  bool is_broken_ = false;
  CallWatch watch_{calls_,
                   {.timeout = std::chrono::hours(1),
                    .is_broken = [this] { return is_broken_; }},
                   [](const std::string&) {}};
};

TEST_F(CallWatchTest, SeesACallThatDoesNotReturn) {
  const CallMeter::Call call(calls_, "a test");
  EXPECT_EQ(looks_until_caught(), CallWatch::kLooks + 1);
}

TEST_F(CallWatchTest, SeesItEarlierInABrokenJob) {
  is_broken_ = true;
  const CallMeter::Call call(calls_, "a test");
  EXPECT_EQ(looks_until_caught(), CallWatch::kLooksIfBroken + 1);
}

TEST_F(CallWatchTest, ReportsNoHangWithoutACall) {
  is_broken_ = true;
  EXPECT_EQ(looks_until_caught(), 0);
  { const CallMeter::Call call(calls_, "a test"); }
  EXPECT_EQ(looks_until_caught(), 0);
}

TEST_F(CallWatchTest, DistinguishesCalls) {
  for (int i = 0; i < 10; ++i) {
    const CallMeter::Call call(calls_, "a test");
    EXPECT_EQ(looks_until_caught(CallWatch::kLooks), 0);
  }
}

TEST(CallWatch, NamesTheCall) {
  CallMeter calls;
  std::promise<std::string> caught;
  CallWatch watch(calls,
                  {.timeout = std::chrono::milliseconds(8),
                   .is_broken = [] { return false; }},
                  [&](const std::string& call) { caught.set_value(call); });
  ASSERT_TRUE(watch.start().ok());
  const CallMeter::Call call(calls, "a test");
  EXPECT_EQ(caught.get_future().get(), "a test");
}

}  // namespace
}  // namespace hvd::runtime
