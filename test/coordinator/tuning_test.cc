// SPDX-License-Identifier: Apache-2.0
// The tuner among the coordinators of a job, on a machine whose times the test
// makes up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/coordinator/protocol/submission.h"
#include "test/coordinator/cluster.h"

namespace hvd::coordinator {
namespace {

constexpr int kTensors = 12;
// In ticks of a microsecond.
constexpr std::uint64_t kApart = 1000;  // Between two arrivals.
constexpr std::uint64_t kBatch = 100;   // Of a batch,
constexpr std::uint64_t kTensor = 800;  // and for each of its tensors.

class TunedCluster : public ::testing::TestWithParam<ClusterOptions> {
 protected:
  TunedCluster() : cluster_(GetParam()) {
    begun_.resize(static_cast<std::size_t>(cluster_.size()), 0);
    ended_.resize(begun_.size(), 0);
    for (int rank = 0; rank < cluster_.size(); ++rank) {
      auto& mine = submissions_.emplace_back();
      for (int i = 0; i < kTensors; ++i) {
        mine.push_back(std::make_unique<Submission>());
        mine.back()->request =
            allreduce_of("g" + std::to_string(100 + i), Shape({1000}));
      }
    }
    cluster_.on_batch = [this](int rank, const Batch& batch) {
      const auto at = static_cast<std::size_t>(rank);
      std::uint64_t begin = ended_[at];
      for (const Batch::Entry& entry : batch.entries) {
        begin = std::max(begin, entry.mine->pushed_at);
      }
      ended_[at] = begin + kBatch + kTensor * batch.entries.size();
      cluster_[rank].coordinator->executed(batch, begin, ended_[at]);
      if (rank == 0) ++batches_;
    };
  }

  // All ranks take a step; returns its ticks.
  std::uint64_t step() {
    const std::uint64_t began = ended_[0];
    batches_ = 0;
    for (int i = 0; i < kTensors; ++i) {
      for (int rank = 0; rank < cluster_.size(); ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        Submission* const mine =
            submissions_[at][static_cast<std::size_t>(i)].get();
        mine->pushed_at =
            begun_[at] + kApart * static_cast<std::uint64_t>(i + 1);
        cluster_[rank].coordinator->submit({&mine, 1});
      }
      cluster_.settle();
    }
    begun_ = ended_;
    return ended_[0] - began;
  }

  Cluster cluster_;
  std::vector<std::vector<std::unique_ptr<Submission>>> submissions_;
  std::vector<std::uint64_t> begun_;  // The present step of each rank,
  std::vector<std::uint64_t> ended_;  // and its last batch.
  int batches_ = 0;                   // Of the present step.
};

TEST_P(TunedCluster, AllRanksChangeToFasterBatchesTogether) {
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(batches_, 1);
  const std::uint64_t before = step();
  for (int i = 0; i < 40; ++i) step();
  EXPECT_GT(batches_, 1);
  EXPECT_LT(step(), before * 3 / 4);
  cluster_.executed();  // Checks that all ranks had the same batches.
}

TEST_P(TunedCluster, RanksSendOnlyMeasurementsAfterwards) {
  for (int i = 0; i < 200; ++i) step();
  const std::size_t batches = cluster_[0].batches.size();
  const int sent = cluster_.mail_sent();
  for (int i = 0; i < 20; ++i) step();
  EXPECT_GT(cluster_[0].batches.size(), batches + 20);
  EXPECT_LE(cluster_.mail_sent(), sent + cluster_.size());
}

TEST_P(TunedCluster, AnInterruptionKeepsTheTunedBatches) {
  for (int i = 0; i < 200; ++i) step();
  const int tuned = batches_;
  for (int i = 0; i < 30; ++i) {
    if (i % 10 == 5) {
      std::vector<Submission> metrics(
          static_cast<std::size_t>(cluster_.size()));
      for (int rank = 0; rank < cluster_.size(); ++rank) {
        Submission* const mine = &metrics[static_cast<std::size_t>(rank)];
        mine->request = allreduce_of("metric");
        cluster_[rank].coordinator->submit({&mine, 1});
      }
      cluster_.settle();
    }
    step();
  }
  EXPECT_EQ(batches_, tuned);
  cluster_.executed();
}

TEST_P(TunedCluster, ManyStepsChangeNothingMore) {
  for (int i = 0; i < 200; ++i) step();
  const int tuned = batches_;
  const std::uint64_t took = step();
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(step(), took);
    ASSERT_EQ(batches_, tuned);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, TunedCluster,
    ::testing::Values(ClusterOptions{.size = 2,
                                     .steps_before_schedule = 3,
                                     .tuning_steps = 5},
                      ClusterOptions{.size = 3,
                                     .ranks_per_node = 1,
                                     .steps_before_schedule = 3,
                                     .tuning_steps = 2},
                      ClusterOptions{.size = 6,
                                     .ranks_per_node = 2,
                                     .steps_before_schedule = 3,
                                     .tuning_steps = 5}));

}  // namespace
}  // namespace hvd::coordinator
