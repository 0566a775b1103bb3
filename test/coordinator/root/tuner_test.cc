// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/root/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/coordinator/protocol/batch.h"
#include "test/coordinator/protocol/sample_messages.h"

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;

constexpr int kRanks = 2;

// A job on a machine that is exactly as a model says: its tuner, and the times
// of steps under the cycle in force.
class TunerTest : public ::testing::Test {
 protected:
  // Tensors with these bytes arrive one by one, a millisecond apart.
  void have(const std::vector<std::int64_t>& bytes) {
    requests_.clear();
    candidates_.clear();
    ids_.clear();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      Request request = sample_allreduce("g" + std::to_string(100 + i));
      request.tensors = {{DType::kF32, Shape({bytes[i] / 4})}};
      requests_.push_back(shared(std::move(request)));
      candidates_.push_back({requests_.back().get(), kRanks});
      ids_.push_back(static_cast<std::uint32_t>(7 + 3 * i));
      arrivals_[ids_.back()] = 1e-3 * static_cast<double>(i + 1);
    }
  }
  void start(Tuner::Options options = {}) {
    samples_.clear();
    options.on_sample = [this](const TuningSample& sample) {
      samples_.push_back(sample);
    };
    tuner_.emplace(options);
    force(tuner_->begin(ids_, candidates_, usual()));
  }
  // One batch of all.
  Cycle usual() const {
    Cycle cycle;
    for (const std::uint32_t id : ids_) cycle.add(id, id == ids_.back());
    return cycle;
  }
  void force(Cycle cycle) { in_force_ = std::move(cycle); }

  double seconds_of(const std::vector<std::uint32_t>& batch) const {
    BatchLoad load;
    for (const std::uint32_t id : batch) {
      load.bytes += static_cast<double>(requests_[(id - 7) / 3]->bytes());
      ++load.tensors;
    }
    return truth_.seconds(load) + (in_force_.batches() > 1 ? surprise_ : 0);
  }
  // A measurement of the cycle in force.
  Measured measure() const {
    Measured found{.number = 1, .cycle = in_force_.hash()};
    double end = 0;
    for (std::size_t i = 0; i < in_force_.batches(); ++i) {
      for (const std::uint32_t id : in_force_.ids_of(i)) {
        end = std::max(end, arrivals_.at(id));
        found.arrivals.push_back(units(arrivals_.at(id)));
      }
      end += seconds_of(in_force_.ids_of(i));
      found.ends.push_back(units(end));
    }
    found.step = found.ends.back();
    return found;
  }
  static std::uint32_t units(double seconds) {
    return static_cast<std::uint32_t>(seconds * 1e7);
  }
  // Batches as they run before the order is fixed: their sizes differ.
  void learn(std::size_t most_tensors = 1000) {
    const std::size_t most = std::min(most_tensors, ids_.size());
    for (int step = 0; step < 3; ++step) {
      for (std::size_t size = 1; size <= most; size *= 2) {
        Batch batch;
        std::vector<std::uint32_t> ids;
        for (std::size_t i = 0; i < size; ++i) {
          batch.entries.push_back({.agreed = requests_[i]});
          ids.push_back(ids_[i]);
        }
        tuner_->ran(batch, seconds_of(ids));
      }
    }
  }
  // Measures and changes `times` times.
  void tune(int times) {
    for (int i = 0; i < times; ++i) {
      if (auto next = tuner_->measured(measure())) force(*std::move(next));
    }
  }
  double step_seconds() const { return 1e-7 * measure().step; }
  double best_seconds() const {
    std::vector<CutPiece> pieces;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      pieces.push_back(
          {.arrival = 1e-3 * static_cast<double>(i + 1),
           .load = {static_cast<double>(requests_[i]->bytes()), 1}});
    }
    const std::vector<PathCurve> lines = {truth_};
    return end_of_cut(pieces, lines, cut_batches(pieces, lines));
  }

  PathLine truth_ = {.start = 1e-4, .per_tensor = 1e-6, .per_byte = 8e-9};
  double surprise_ = 0;  // Added to each batch of a cycle with several.
  std::vector<RequestPtr> requests_;
  std::vector<Candidate> candidates_;
  std::vector<std::uint32_t> ids_;
  absl::flat_hash_map<std::uint32_t, double> arrivals_;
  std::optional<Tuner> tuner_;
  Cycle in_force_;
  std::vector<TuningSample> samples_;
};

TEST_F(TunerTest, FindsTheBestBatches) {
  have(std::vector<std::int64_t>(40, 100'000));
  start();
  const double before = step_seconds();
  learn();
  tune(4);
  EXPECT_LT(step_seconds(), 0.75 * before);
  EXPECT_LE(step_seconds(), 1.01 * best_seconds());
}

TEST_F(TunerTest, FindsThemWithoutBatchesBeforeTheCycle) {
  have(std::vector<std::int64_t>(40, 100'000));
  start();
  tune(6);
  EXPECT_LE(step_seconds(), 1.02 * best_seconds());
}

TEST_F(TunerTest, OrdersTensorsByArrival) {
  have(std::vector<std::int64_t>(30, 200'000));
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    arrivals_[ids_[i]] = 1e-3 * static_cast<double>(ids_.size() - i);
  }
  start();
  learn();
  tune(4);
  ASSERT_GT(in_force_.batches(), 1u);
  EXPECT_EQ(in_force_.ids_of(0).front(), ids_.back());
  EXPECT_LE(step_seconds(), 1.01 * best_seconds());
}

TEST_F(TunerTest, KeepsBatchesThatCannotGainMuch) {
  truth_ = {.start = 1e-5, .per_tensor = 1e-8, .per_byte = 1e-12};
  have(std::vector<std::int64_t>(20, 1000));
  start();
  learn();
  tune(5);
  EXPECT_EQ(in_force_.hash(), usual().hash());
  EXPECT_EQ(samples_.size(), 5u);
}

TEST_F(TunerTest, GoesBackWhereStepsBecomeSlowerAndStaysThere) {
  have(std::vector<std::int64_t>(40, 100'000));
  start();
  learn();
  surprise_ = 20e-3;
  tune(1);
  EXPECT_GT(in_force_.batches(), 1u);
  tune(1);
  EXPECT_EQ(in_force_.hash(), usual().hash());
  int changes = 0;
  for (int i = 0; i < 100; ++i) {
    auto next = tuner_->measured(measure());
    if (!next) continue;
    ++changes;
    force(*std::move(next));
  }
  EXPECT_LE(changes, 4);
  EXPECT_EQ(in_force_.hash(), usual().hash());
}

TEST_F(TunerTest, NeverEndsWithSlowerStepsThanItBeganWith) {
  for (const double surprise : {1e-4, 3e-4, 1e-3, 3e-3, 1e-2}) {
    have(std::vector<std::int64_t>(60, 50'000));
    surprise_ = 0;
    start();
    const double before = step_seconds();
    learn();
    surprise_ = surprise;
    tune(50);
    EXPECT_LE(step_seconds(), before) << surprise;
  }
}

TEST_F(TunerTest, WaitsForTheWarmUps) {
  have(std::vector<std::int64_t>(40, 100'000));
  start({.warm_ups = 3});
  learn();
  tune(3);
  EXPECT_EQ(in_force_.hash(), usual().hash());
  tune(1);
  EXPECT_NE(in_force_.hash(), usual().hash());
}

TEST_F(TunerTest, TriesNoMoreThanItMay) {
  have(std::vector<std::int64_t>(40, 100'000));
  start({.max_trials = 0});
  learn();
  tune(10);
  EXPECT_EQ(in_force_.hash(), usual().hash());
}

TEST_F(TunerTest, GoesBackFromACycleThatRanksCannotFollow) {
  have(std::vector<std::int64_t>(40, 100'000));
  start();
  EXPECT_FALSE(tuner_->could_not_follow());
  learn();
  tune(1);
  ASSERT_GT(in_force_.batches(), 1u);
  auto next = tuner_->could_not_follow();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->hash(), usual().hash());
  force(*std::move(next));
  tune(10);
  EXPECT_EQ(in_force_.hash(), usual().hash());
}

TEST_F(TunerTest, IgnoresMeasurementsOfOtherCyclesAndWrongLengths) {
  have(std::vector<std::int64_t>(40, 100'000));
  start();
  learn();
  Measured other = measure();
  ++other.cycle;
  EXPECT_FALSE(tuner_->measured(other));
  Measured shorter = measure();
  shorter.arrivals.pop_back();
  EXPECT_FALSE(tuner_->measured(shorter));
  Measured without_ends = measure();
  without_ends.ends.clear();
  EXPECT_FALSE(tuner_->measured(without_ends));
  Measured late = measure();
  late.arrivals[3] = 0xffffffffu;
  EXPECT_FALSE(tuner_->measured(late));
  EXPECT_TRUE(samples_.empty());
  EXPECT_FALSE(tuner_->best());
}

TEST_F(TunerTest, BeginsWithWhatAnEarlierJobFound) {
  have(std::vector<std::int64_t>(40, 100'000));
  start();
  learn();
  tune(5);
  const TuningMemory memory = tuner_->memory();
  const std::uint64_t found = in_force_.hash();
  start({.memory = memory});
  EXPECT_EQ(in_force_.hash(), found);
  EXPECT_LE(step_seconds(), 1.01 * best_seconds());
  // The earlier job has tried the neighbors.
  EXPECT_FALSE(tuner_->measured(measure()));
  // Another model begins as usual.
  have(std::vector<std::int64_t>(41, 100'000));
  start({.memory = memory});
  EXPECT_EQ(in_force_.hash(), usual().hash());
}

TEST_F(TunerTest, IgnoresRememberedBatchesThatCannotBe) {
  have({4000, 4000, 4000});
  requests_[1] = [] {
    Request request = sample_allreduce("g101");
    request.tensors = {{DType::kF64, Shape({500})}};
    return shared(std::move(request));
  }();
  candidates_[1].request = requests_[1].get();
  start();
  tune(1);
  TuningMemory memory = tuner_->memory();
  ASSERT_EQ(memory.models.size(), 1u);
  memory.models[0].best = {.order = {2, 1, 0}, .cuts = {3}};  // Two dtypes.
  start({.memory = memory});
  EXPECT_EQ(in_force_.hash(), usual().hash());
  memory.models[0].best = {.order = {2, 1, 0}, .cuts = {1, 2, 3}};
  start({.memory = memory});
  EXPECT_EQ(in_force_.batches(), 3u);
}

TEST_F(TunerTest, ReturnsToTheBestBatchesOfAModelThatComesBack) {
  have(std::vector<std::int64_t>(40, 100'000));
  start();
  learn();
  tune(5);
  const std::uint64_t best = in_force_.hash();
  tuner_->forget();
  EXPECT_FALSE(tuner_->measured(measure()));
  force(tuner_->begin(ids_, candidates_, usual()));
  EXPECT_EQ(in_force_.hash(), best);
}

TEST_F(TunerTest, ReportsSamplesAndTheBestOne) {
  have(std::vector<std::int64_t>(40, 100'000));
  start();
  learn();
  tune(5);
  ASSERT_EQ(samples_.size(), 5u);
  EXPECT_DOUBLE_EQ(samples_[0].bytes, 4e6);
  EXPECT_DOUBLE_EQ(samples_[0].largest_batch, 4e6);
  EXPECT_EQ(samples_[0].batches, 1u);
  ASSERT_TRUE(tuner_->best());
  EXPECT_EQ(tuner_->best()->batches, in_force_.batches());
  EXPECT_LT(tuner_->best()->step_seconds, samples_[0].step_seconds);
}

TEST_F(TunerTest, TellsOnceWhatItFoundBeforeTheJobEnds) {
  have(std::vector<std::int64_t>(40, 100'000));
  std::vector<TuningMemory> found;
  start({.on_found = [&](const TuningMemory& memory) {
    found.push_back(memory);
  }});
  learn();
  tune(30);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.back().models, tuner_->memory().models);
  const std::size_t times = found.size();
  tune(100);
  EXPECT_EQ(found.size(), times);
  start({.memory = found.back()});
  EXPECT_LE(step_seconds(), 1.01 * best_seconds());
}

// Short batches were slow before the order was fixed. So the model expects less
// of them than they take.
TEST_F(TunerTest, FindsShortBatchesThatTheModelUnderestimates) {
  have(std::vector<std::int64_t>(60, 100'000));
  start();
  learn();
  truth_.start = 3e-4;
  for (int i = 0; i < 3; ++i) learn(4);
  truth_.start = 1e-4;
  tune(12);
  // Without neighbors of the best cut, 1.013.
  EXPECT_LE(step_seconds(), 1.005 * best_seconds());
}

TEST_F(TunerTest, LeavesOtherOperationsAlone) {
  have(std::vector<std::int64_t>(4, 100'000));
  Request gather = *requests_[2];
  gather.kind = RequestKind::kAllgather;
  requests_[2] = shared(gather);
  candidates_[2].request = requests_[2].get();
  start();
  EXPECT_EQ(in_force_.hash(), usual().hash());
  EXPECT_FALSE(tuner_->measured(measure()));
}

}  // namespace
}  // namespace hvd::coordinator
