// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/elastic/elastic_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/tensor/factories.h"
#include "test/elastic/ranks.h"

namespace hvd::elastic {
namespace {

TEST(ElasticSampler, DistributesTheRestOfAnEpochAnew) {
  constexpr int kItems = 31;
  std::mutex mutex;
  std::multiset<std::int64_t> read;
  run_mortal_ranks(3, 1, [&](JobOfThread& job) {
    ElasticSampler sampler(kItems, {.seed = 5});
    const auto take = [&](std::int64_t count) {
      const std::vector<std::int64_t> indices = sampler.indices();
      const std::lock_guard lock(mutex);
      read.insert(indices.begin(), indices.begin() + count);
      sampler.set_position(sampler.position() + count);
    };
    take(4);
    if (rank() == 2) throw Dies();
    while (job->status().ok()) std::this_thread::yield();
    job.reset();
    sampler.reset();
    EXPECT_EQ(sampler.num_samples(), 10);  // 19 items for two ranks.
    take(sampler.num_samples());
  });
  EXPECT_EQ(read.size(), 12u + 20u);
  EXPECT_EQ(std::set(read.begin(), read.end()).size(),
            static_cast<std::size_t>(kItems));
}

TEST(ElasticSampler, ResumesWithAnyNumberOfRanks) {
  Tensor state;
  run_mortal_ranks(3, 0, [&](JobOfThread&) {
    ElasticSampler sampler(12, {.shuffle = false});
    sampler.set_epoch(4);
    sampler.set_position(2);
    if (rank() == 0) state = sampler.state();
  });
  run_mortal_ranks(2, 0, [&](JobOfThread&) {
    ElasticSampler sampler(12, {.shuffle = false});
    sampler.load_state(state);
    EXPECT_EQ(sampler.epoch(), 4);
    const std::vector<std::int64_t> expected =
        rank() == 0 ? std::vector<std::int64_t>{6, 8, 10}
                    : std::vector<std::int64_t>{7, 9, 11};
    EXPECT_EQ(sampler.indices(), expected);
    EXPECT_EQ(sampler.state().to_vector<std::int64_t>(),
              state.to_vector<std::int64_t>());
    sampler.set_epoch(5);
    EXPECT_EQ(sampler.num_samples(), 6);
  });
}

TEST(ElasticSampler, ARestOfNothingIsTheNextEpoch) {
  run_mortal_ranks(1, 0, [](JobOfThread&) {
    ElasticSampler sampler(4);
    sampler.set_position(4);
    sampler.reset();
    EXPECT_EQ(sampler.epoch(), 1);
    EXPECT_EQ(sampler.num_samples(), 4);
  });
}

TEST(ElasticSampler, RefusesOtherStates) {
  run_mortal_ranks(1, 0, [](JobOfThread&) {
    ElasticSampler sampler(4);
    EXPECT_THROW(sampler.load_state(Tensor()), InvalidArgument);
    EXPECT_THROW(sampler.load_state(zeros({4})), InvalidArgument);
    EXPECT_THROW(
        sampler.load_state(from_vector<std::int64_t>({0, 0, 1, 4}, {4})),
        InvalidArgument);
    EXPECT_THROW(
        sampler.load_state(from_vector<std::int64_t>({0, 5, 0, 4}, {4})),
        InvalidArgument);
    EXPECT_THROW(
        sampler.load_state(from_vector<std::int64_t>({-1, 0, 0, 4}, {4})),
        InvalidArgument);
  });
}

}  // namespace
}  // namespace hvd::elastic
