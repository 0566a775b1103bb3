// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/meeting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"

namespace hvd {
namespace {

using ::testing::HasSubstr;

Config config_of(const Meeting& meeting, int rank, int size) {
  Config config;
  config.rendezvous = meeting.place();
  config.job_key = meeting.key();
  config.rank = rank;
  config.expected_size = size;
  config.measure_crossovers = false;
  return config;
}

TEST(Meeting, LetsRanksEnterAJob) {
  constexpr int kSize = 3;
  auto opened = Meeting::open(kSize);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const Meeting meeting = *std::move(opened);
  std::vector<float> sums(kSize);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kSize; ++rank) {
    ranks.emplace_back([&, rank] {
      auto job = Runtime::start(config_of(meeting, rank, kSize));
      ASSERT_TRUE(job.ok()) << job.status();
      float& sum = sums[static_cast<std::size_t>(rank)];
      sum = static_cast<float>(rank + 1);
      const Status summed =
          (*job)
              ->allreduce_async_(TensorView::of(&sum, {1}),
                                 {.name = "x", .op = ReduceOp::kSum})
              .wait();
      EXPECT_TRUE(summed.ok()) << summed;
      EXPECT_TRUE((*job)->stop().ok());
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(sums, std::vector<float>(kSize, 6));
}

TEST(Meeting, KeepsOutRanksWithoutTheKey) {
  const auto meeting = Meeting::open(2);
  ASSERT_TRUE(meeting.ok()) << meeting.status();
  const auto other = Meeting::open(2);
  ASSERT_TRUE(other.ok()) << other.status();
  Config config = config_of(*meeting, 0, 2);
  config.job_key = other->key();
  config.start_timeout = std::chrono::seconds(1);
  const auto job = Runtime::start(config);
  EXPECT_FALSE(job.ok());
}

TEST(Meeting, NeedsARank) {
  const auto meeting = Meeting::open(0);
  EXPECT_EQ(meeting.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(meeting.status().message()),
              HasSubstr("a meeting of 0 ranks"));
}

}  // namespace
}  // namespace hvd
