// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/channels/activity.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace hvd::runtime {
namespace {

using namespace std::chrono_literals;
using coordinator::Batch;
using coordinator::Request;
using coordinator::TensorQueue;

constexpr Clock::TimePoint kBegin{100s};

TensorQueue::InFlight in_flight(const std::string& name,
                                std::uint32_t flight = 1) {
  return {.key = {.name = name}, .flight = flight};
}

TEST(Activity, CountsCollectivesAndNamesTheLast) {
  Activity activity;
  EXPECT_EQ(activity.now(), RankProgress{});
  Batch batch;
  for (const char* name : {"a", "b"}) {
    Request request;
    request.key.name = name;
    batch.entries.push_back({.agreed = std::make_shared<Request>(request)});
  }
  activity.begins(batch);
  activity.begins(batch);
  EXPECT_EQ(activity.now(), (RankProgress{.collectives = 4, .last = "b"}));
}

TEST(LongestWait, IsOfTheNameThatWasSeenFirst) {
  LongestWait longest;
  RankProgress progress;
  longest.see({in_flight("b")}, kBegin, progress);
  EXPECT_EQ(progress.waiting, "");  // It may have begun just now.
  longest.see({in_flight("a"), in_flight("b")}, kBegin + 500ms, progress);
  EXPECT_EQ(progress.waiting, "b");
  EXPECT_EQ(progress.waiting_ms, 500);
  progress = {};
  longest.see({in_flight("a")}, kBegin + 1500ms, progress);
  EXPECT_EQ(progress.waiting, "a");
  EXPECT_EQ(progress.waiting_ms, 1000);
}

TEST(LongestWait, IsOverWhenTheNameIsSubmittedAgain) {
  LongestWait longest;
  RankProgress progress;
  longest.see({in_flight("a", 1)}, kBegin, progress);
  longest.see({in_flight("a", 2)}, kBegin + 1s, progress);
  EXPECT_EQ(progress.waiting, "");
  longest.see({}, kBegin + 2s, progress);
  EXPECT_EQ(progress.waiting, "");
}

}  // namespace
}  // namespace hvd::runtime
