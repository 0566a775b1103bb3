// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/data_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/data/item_random.h"
#include "test/support/expect_error.h"
#include "test/support/no_threads.h"

namespace hvd::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Item i is {i}; `before` is called with i.
class Counting : public Dataset {
 public:
  explicit Counting(std::int64_t size,
                    std::function<void(std::int64_t)> before = nullptr)
      : size_(size), before_(std::move(before)) {}
  std::int64_t size() const override { return size_; }
  Item get(std::int64_t index) const override {
    if (before_) before_(index);
    return {from_vector<std::int64_t>({index}, {})};
  }

 private:
  const std::int64_t size_;
  const std::function<void(std::int64_t)> before_;
};

std::vector<std::vector<std::int64_t>> read(DataLoader& loader) {
  std::vector<std::vector<std::int64_t>> result;
  for (const Batch& batch : loader.iterate()) {
    result.push_back(batch[0].to_vector<std::int64_t>());
  }
  return result;
}

class DataLoaderWith : public testing::TestWithParam<int> {};

TEST_P(DataLoaderWith, GivesBatchesInOrder) {
  const Counting dataset(7);
  DistributedSampler sampler(7, {.shuffle = false});
  DataLoader loader(dataset, sampler, {.batch_size = 3, .workers = GetParam()});
  EXPECT_EQ(loader.num_batches(), 3);
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_THAT(read(loader),
                ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5),
                            ElementsAre(6)));
  }
  DataLoader even(dataset, sampler,
                  {.batch_size = 3, .workers = GetParam(), .drop_last = true});
  EXPECT_EQ(even.num_batches(), 2);
  EXPECT_EQ(read(even).size(), 2u);
  EXPECT_EQ(sampler.position(), 7);
}

TEST_P(DataLoaderWith, ManyBatchesStayInOrder) {
  const Counting dataset(1000);
  DistributedSampler sampler(1000);
  sampler.set_epoch(2);
  DataLoader loader(dataset, sampler, {.workers = GetParam(), .prefetch = 1});
  std::vector<std::int64_t> seen;
  const auto wanted = sampler.indices();
  for (const auto& batch : read(loader)) seen.push_back(batch[0]);
  EXPECT_EQ(seen, wanted);
}

TEST_P(DataLoaderWith, ContinuesFromASavedSampler) {
  const Counting dataset(20);
  DistributedSampler sampler(20);
  DataLoader loader(dataset, sampler, {.batch_size = 4, .workers = GetParam()});
  const auto whole = read(loader);
  Tensor state;
  {
    sampler.set_epoch(0);
    auto pass = loader.iterate();
    pass.next();
    pass.next();
    state = sampler.state();
  }
  DistributedSampler other(20);
  other.load_state(state);
  DataLoader resumed(dataset, other, {.batch_size = 4, .workers = GetParam()});
  EXPECT_EQ(read(resumed), (std::vector<std::vector<std::int64_t>>(
                               whole.begin() + 2, whole.end())));
}

TEST_P(DataLoaderWith, RaisesADatasetsExceptionInItsPlace) {
  const Counting dataset(9, [](std::int64_t i) {
    if (i == 5) throw std::runtime_error("bad picture");
  });
  DistributedSampler sampler(9, {.shuffle = false});
  DataLoader loader(dataset, sampler, {.batch_size = 2, .workers = GetParam()});
  auto pass = loader.iterate();
  EXPECT_TRUE(pass.next().has_value());
  EXPECT_TRUE(pass.next().has_value());
  for (int repeat = 0; repeat < 2; ++repeat) {
    try {
      pass.next();
      FAIL();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("item 5: bad picture"));
      EXPECT_THROW(std::rethrow_if_nested(error), std::runtime_error);
    }
  }
  EXPECT_EQ(sampler.position(), 4);
}

TEST_P(DataLoaderWith, RefusesDifferentItemsInABatch) {
  struct Ragged : Dataset {
    std::int64_t size() const override { return 4; }
    Item get(std::int64_t i) const override { return {ones({i})}; }
  };
  const Ragged dataset;
  DistributedSampler sampler(4, {.shuffle = false});
  DataLoader loader(dataset, sampler, {.batch_size = 2, .workers = GetParam()});
  EXPECT_ERROR(InvalidArgument, "item 1 is (float32[1])",
               loader.iterate().next());
}

TEST(DataLoader, ReportsThatItsWorkersCannotStart) {
  const Counting dataset(4);
  DistributedSampler sampler(4);
  DataLoader loader(dataset, sampler, {.batch_size = 2, .workers = 2});
  const NoThreads no_threads;
  EXPECT_ERROR(Error, "the thread that makes batches", loader.iterate().next());
}

// For any number of workers, and from any position of an epoch.
TEST_P(DataLoaderWith, RandomNumbersBelongToTheBatch) {
  struct Noise : Dataset {
    std::int64_t size() const override { return 8; }
    Item get(std::int64_t) const override { return {rand({3})}; }
  };
  const Noise dataset;
  const auto numbers = [&](int workers, std::int64_t epoch,
                           std::int64_t position) {
    DistributedSampler sampler(8);
    sampler.set_epoch(epoch);
    sampler.set_position(position);
    DataLoader loader(dataset, sampler, {.batch_size = 2, .workers = workers});
    std::vector<std::vector<float>> all;
    for (const Batch& batch : loader.iterate()) {
      all.push_back(batch[0].to_vector<float>());
    }
    return all;
  };
  manual_seed(7);
  const auto mine = rand({1}).item<float>();
  manual_seed(7);
  const auto all = numbers(GetParam(), 0, 0);
  EXPECT_EQ(rand({1}).item<float>(),
            mine);  // Undisturbed.
  EXPECT_EQ(all, numbers(0, 0, 0));
  EXPECT_EQ(all.back(), numbers(GetParam(), 0, 6).back());
  EXPECT_NE(all, numbers(GetParam(), 1, 0));
  EXPECT_NE(all[0], all[1]);
}

// For any ranks, batches and workers.
TEST_P(DataLoaderWith, RandomNumbersBelongToTheItem) {
  struct Noise : Dataset {
    std::int64_t size() const override { return 8; }
    Item get(std::int64_t i) const override {
      double draw = 0;
      item_generator(i).uniform(std::span(&draw, 1));
      return {full({}, static_cast<double>(i)), full({}, draw)};
    }
  };
  const Noise dataset;
  const auto numbers = [&](int ranks, std::int64_t batch, std::int64_t epoch,
                           std::uint64_t seed) {
    std::map<float, float> all;
    for (int rank = 0; rank < ranks; ++rank) {
      DistributedSampler sampler(8, {.num_replicas = ranks, .rank = rank});
      sampler.set_epoch(epoch);
      DataLoader loader(
          dataset, sampler,
          {.batch_size = batch, .workers = GetParam(), .seed = seed});
      for (const Batch& part : loader.iterate()) {
        const auto items = part[0].to_vector<float>();
        const auto draws = part[1].to_vector<float>();
        for (std::size_t i = 0; i < items.size(); ++i) {
          all[items[i]] = draws[i];
        }
      }
    }
    return all;
  };
  const auto all = numbers(1, 8, 2, 3);
  EXPECT_EQ(all.size(), 8u);
  EXPECT_EQ(all, numbers(2, 2, 2, 3));
  EXPECT_EQ(all, numbers(4, 1, 2, 3));
  EXPECT_NE(all, numbers(1, 8, 1, 3));
  EXPECT_NE(all, numbers(1, 8, 2, 4));
  EXPECT_NE(all.at(0), all.at(1));
}

INSTANTIATE_TEST_SUITE_P(Workers, DataLoaderWith, testing::Values(0, 1, 2, 5));

TEST(DataLoader, ReadsNoFurtherAheadThanItMay) {
  std::atomic<std::int64_t> most{-1};
  const Counting dataset(100, [&](std::int64_t i) {
    std::int64_t before = most;
    while (before < i && !most.compare_exchange_weak(before, i)) {
    }
  });
  DistributedSampler sampler(100, {.shuffle = false});
  DataLoader loader(dataset, sampler, {.workers = 3, .prefetch = 2});
  auto pass = loader.iterate();
  for (std::int64_t taken = 1; taken <= 100; ++taken) {
    pass.next();
    EXPECT_LT(most, taken + 6);
  }
}

TEST(DataLoader, WorkersReadAtTheSameTime) {
  // Each read waits for the other: a single worker would hang.
  Mutex mutex;
  CondVar changed;
  int inside = 0;
  const Counting dataset(2, [&](std::int64_t) {
    MutexLock lock(mutex);
    ++inside;
    changed.notify_all();
    while (inside < 2) changed.wait(mutex);
  });
  DistributedSampler sampler(2);
  DataLoader loader(dataset, sampler, {.workers = 2});
  EXPECT_EQ(read(loader).size(), 2u);
}

TEST(DataLoader, StopsInTheMiddleOfAnEpoch) {
  std::atomic<int> calls{0};
  const Counting dataset(1000, [&](std::int64_t) { ++calls; });
  DistributedSampler sampler(1000);
  DataLoader loader(dataset, sampler, {.batch_size = 2, .workers = 4});
  for (int taken = 0; taken < 5; ++taken) {
    sampler.set_epoch(taken + 1);
    int left = taken;
    for (const Batch& batch : loader.iterate()) {
      EXPECT_EQ(batch[0].num_elements(), 2);
      if (left-- == 0) break;
    }
  }
  const int after = calls;
  EXPECT_LT(after, 1000);
  EXPECT_EQ(calls, after);  // No worker reads any more.
}

TEST(DataLoader, RefusesInvalidOptions) {
  const Counting dataset(3);
  DistributedSampler sampler(3);
  EXPECT_THROW(DataLoader(dataset, sampler, {.batch_size = 0}),
               InvalidArgument);
  EXPECT_THROW(DataLoader(dataset, sampler, {.workers = -1}), InvalidArgument);
  EXPECT_THROW(DataLoader(dataset, sampler, {.prefetch = 0}), InvalidArgument);
}

TEST(TensorDataset, GivesRows) {
  const TensorDataset dataset(
      {arange(0, 6).reshape({3, 2}), arange(10, 13).to(DType::kF32)});
  EXPECT_EQ(dataset.size(), 3);
  EXPECT_THAT(dataset.get(1)[0].to_vector<std::int64_t>(), ElementsAre(2, 3));
  const std::int64_t some[] = {2, 0, 2};
  const Batch batch = dataset.get_batch(some);
  EXPECT_THAT(batch[0].to_vector<std::int64_t>(),
              ElementsAre(4, 5, 0, 1, 4, 5));
  EXPECT_THAT(batch[1].to_vector<float>(), ElementsAre(12, 10, 12));
  const std::int64_t none[] = {3};
  EXPECT_THROW(dataset.get_batch(none), InvalidArgument);
  EXPECT_THROW(TensorDataset({}), InvalidArgument);
  EXPECT_THROW(TensorDataset({ones({2}), ones({3})}), InvalidArgument);
  EXPECT_THROW(TensorDataset({ones({})}), InvalidArgument);
}

}  // namespace
}  // namespace hvd::data
