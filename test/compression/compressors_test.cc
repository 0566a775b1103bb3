// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/compression/compressors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "test/runtime/world.h"

namespace hvd::compression {
namespace {

using replica::GradientReducer;
using replica::ReducerOptions;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using transport::LoopbackWorld;

constexpr std::int64_t kRows = 20;
constexpr std::int64_t kColumns = 30;
using Numbers = std::vector<float>;

struct Kind {
  const char* name;
  std::function<std::unique_ptr<Compressor>()> make;
  bool remembers = true;  // Keeps errors for later steps.
  double share = 0.0;     // Of a large gradient's bytes that it sends.

  friend void PrintTo(const Kind& kind, std::ostream* out) {
    *out << kind.name;
  }
};

const Kind kKinds[] = {{"fp16", fp16, false, 0.5},
                       {"bf16", bf16, false, 0.5},
                       {"int8", int8_blocks, true, 0.26},
                       {"topk", [] { return top_k(0.1); }, true, 0.2},
                       {"signs", [] { return signs(); }, true, 0.034},
                       {"powersgd", [] { return power_sgd(2); }, true, 0.17}};

std::unique_ptr<Compressor> warming_top_k() {
  return top_k({.share = 0.05, .warmup_steps = 4, .warmup_share = 0.4});
}

// A rank's gradient in a step: numbers of many magnitudes.
Numbers gradient_of(int rank, int step) {
  Numbers result;
  for (int i = 0; i < kRows * kColumns; ++i) {
    result.push_back(std::sin(static_cast<float>(i * (rank + 1)) * 0.37f) *
                     std::cos(static_cast<float>(i / 7 + step)));
  }
  return result;
}

Numbers mean_of_ranks(int ranks, int step) {
  Numbers mean(kRows * kColumns);
  for (int rank = 0; rank < ranks; ++rank) {
    const Numbers one = gradient_of(rank, step);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += one[i] / static_cast<float>(ranks);
    }
  }
  return mean;
}

double size_of(const Numbers& numbers) {
  double squares = 0;
  for (const float x : numbers) squares += static_cast<double>(x) * x;
  return std::sqrt(squares);
}

double distance(const Numbers& a, const Numbers& b) {
  Numbers difference = a;
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] -= b[i];
  return size_of(difference);
}

class Compressors : public ::testing::TestWithParam<Kind> {};

Numbers reduced(GradientReducer& reducer, Numbers gradient,
                const std::string& key = "w") {
  reducer.add(key, TensorView::of(gradient.data(), {kRows, kColumns}));
  reducer.finish();
  return gradient;
}

// Errors do not accumulate: values left out of one step are sent in a later
// one.
TEST_P(Compressors, SendTheSumOfTheGradients) {
  for (const ReduceOp op : {ReduceOp::kAverage, ReduceOp::kSum}) {
    run_world({.size = 3}, [&](Runtime& job, LoopbackWorld&) {
      GradientReducer reducer(
          job, {.op = op,
                .gradient_predivide_factor = op == ReduceOp::kSum ? 1.0 : 2.0,
                .compressor = GetParam().make()});
      const float ranks = op == ReduceOp::kSum ? 3 : 1;
      Numbers sum(kRows * kColumns);
      Numbers expected = sum;
      double largest = 0.0;
      for (int step = 0; step < 60; ++step) {
        const Numbers got =
            reduced(reducer, gradient_of(job.topology().rank(), step));
        const Numbers mean = mean_of_ranks(3, step);
        for (std::size_t i = 0; i < sum.size(); ++i) {
          sum[i] += got[i] / ranks;
          expected[i] += mean[i];
        }
        largest = std::max(largest, size_of(mean));
      }
      // The error of a few of the sixty steps at most.
      EXPECT_LT(distance(sum, expected), 12 * largest);
      EXPECT_LT(largest, size_of(gradient_of(0, 0)));
    });
  }
}

TEST_P(Compressors, GiveAllRanksTheSameBits) {
  std::vector<Numbers> results(4);
  run_world({.size = 4}, [&](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job, {.compressor = GetParam().make()});
    const auto rank = static_cast<std::size_t>(job.topology().rank());
    for (int step = 0; step < 3; ++step) {
      results[rank] =
          reduced(reducer, gradient_of(static_cast<int>(rank), step));
    }
  });
  EXPECT_THAT(results, Each(results[0]));
}

TEST_P(Compressors, WorkOnGroups) {
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const auto results_with = [&](ReducerOptions options) {
      options.compressor = GetParam().make();
      GradientReducer reducer(job, options);
      Numbers a = gradient_of(job.topology().rank(), 1);
      Numbers b = gradient_of(job.topology().rank(), 2);
      std::vector<double> c = {1.0 * job.topology().rank()};
      reducer.add("b", TensorView::of(b.data(), {kRows, kColumns}));
      reducer.add("a", TensorView::of(a.data(), {kRows * kColumns}));
      reducer.add("c", TensorView::of(c.data(), {1}));
      reducer.finish();
      EXPECT_EQ(c[0], 0.5);  // Other dtypes are not compressed.
      return std::pair(a, b);
    };
    EXPECT_EQ(results_with({.groups = {{"a", "b"}}}), results_with({}));
  });
}

TEST_P(Compressors, ReportAnOverflowOnce) {
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job, {.compressor = GetParam().make()});
    const int rank = job.topology().rank();
    for (const float worst : {std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()}) {
      Numbers gradient = gradient_of(rank, 0);
      if (rank == 1) gradient[41] = worst;
      EXPECT_FALSE(std::isfinite(size_of(reduced(reducer, gradient))));
      for (int step = 1; step < 3; ++step) {
        EXPECT_TRUE(
            std::isfinite(size_of(reduced(reducer, gradient_of(rank, step)))));
      }
    }
  });
}

TEST_P(Compressors, SendFewerBytes) {
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job, {.compressor = GetParam().make()});
    reduced(reducer, gradient_of(0, 0));
    const replica::ReducerStats stats = reducer.stats();
    EXPECT_EQ(stats.bytes, kRows * kColumns * sizeof(float));
    EXPECT_NEAR(static_cast<double>(stats.sent_bytes) /
                    static_cast<double>(stats.bytes),
                GetParam().share, 0.01);
  });
}

TEST_P(Compressors, GoOnFromTheirState) {
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const int rank = job.topology().rank();
    const std::shared_ptr<Compressor> first = GetParam().make();
    GradientReducer reducer(job, {.compressor = first, .name = "first"});
    reduced(reducer, gradient_of(rank, 0));
    EXPECT_NE(first->state().empty(), GetParam().remembers);
    const std::shared_ptr<Compressor> second = GetParam().make();
    second->load_state(first->state());
    GradientReducer other(job, {.compressor = second, .name = "second"});
    for (int step = 1; step < 3; ++step) {
      const Numbers next = gradient_of(rank, step);
      EXPECT_EQ(reduced(reducer, next), reduced(other, next));
    }
  });
}

TEST_P(Compressors, LoadingAStateClearsTheResiduals) {
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const int rank = job.topology().rank();
    const std::shared_ptr<Compressor> used = GetParam().make();
    GradientReducer reducer(job, {.compressor = used, .name = "used"});
    reduced(reducer, gradient_of(rank, 0));
    used->load_state({});
    GradientReducer fresh(job,
                          {.compressor = GetParam().make(), .name = "fresh"});
    const Numbers next = gradient_of(rank, 1);
    EXPECT_EQ(reduced(reducer, next), reduced(fresh, next));
  });
}

TEST_P(Compressors, LeaveOneRankAlone) {
  run_world({.size = 1}, [&](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job, {.compressor = GetParam().make()});
    EXPECT_EQ(reduced(reducer, gradient_of(1, 1)), gradient_of(1, 1));
  });
}

TEST_P(Compressors, TakeEmptyGradientsAndZeros) {
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job, {.compressor = GetParam().make()});
    for (int step = 0; step < 2; ++step) {
      Numbers none(1);
      Numbers one(1);
      Numbers zeros(kRows * kColumns);
      reducer.add("none", TensorView::of(none.data(), {0}));
      reducer.add("one", TensorView::of(one.data(), {1}));
      reducer.add("zeros", TensorView::of(zeros.data(), {kRows, kColumns}));
      reducer.finish();
      EXPECT_THAT(one, Each(0.0f));
      EXPECT_THAT(zeros, Each(0.0f));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, Compressors, ::testing::ValuesIn(kKinds),
                         [](const auto& kind) {
                           return std::string(kind.param.name);
                         });

TEST(TopK, SendsTheLargestFirst) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job, {.compressor = top_k(0.5)});
    Numbers gradient = {1, -4, 0.5f, 3};
    reducer.add("w", TensorView::of(gradient.data(), {4}));
    reducer.finish();
    EXPECT_THAT(gradient, ElementsAre(0, -4, 0, 3));
    gradient = {0, 0, 0, 0.25f};
    reducer.add("w", TensorView::of(gradient.data(), {4}));
    reducer.finish();
    EXPECT_THAT(gradient, ElementsAre(1, 0, 0.5f, 0));
  });
}

// A rank-one matrix is reproduced without loss.
TEST(PowerSgd, FindsTheBasisOfAMatrixOfLowRank) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job, {.compressor = power_sgd(1)});
    Numbers gradient;
    for (int i = 0; i < kRows * kColumns; ++i) {
      gradient.push_back(
          static_cast<float>((i / kColumns + 1) * (i % kColumns - 7)));
    }
    const Numbers got = reduced(reducer, gradient);
    EXPECT_LT(distance(got, gradient), 1e-5 * size_of(gradient));
  });
}

TEST(AllCompressors, RefuseInvalidOptions) {
  EXPECT_THROW(top_k(0), Error);
  EXPECT_THROW(top_k(1.5), Error);
  EXPECT_THROW(power_sgd(0), Error);
  run_world({.size = 1}, [](Runtime& job, LoopbackWorld&) {
    EXPECT_THROW(
        GradientReducer(job, {.op = ReduceOp::kMax, .compressor = fp16()}),
        Error);
  });
}

TEST(AllCompressors, KnowTheirTraffic) {
  EXPECT_DOUBLE_EQ(plain_traffic(4), 1.5);
  EXPECT_DOUBLE_EQ(fp16()->traffic(4), 0.75);
  EXPECT_LT(int8_blocks()->traffic(4), plain_traffic(4));
  EXPECT_GT(int8_blocks()->traffic(8), plain_traffic(8));
  EXPECT_LT(signs()->traffic(60), plain_traffic(60));
}

// Bytes that one rank sends for a gradient, step by step.
std::vector<std::uint64_t> sent_in_steps(
    const std::function<std::unique_ptr<Compressor>()>& make, int steps) {
  std::vector<std::uint64_t> result;
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job, {.compressor = make()});
    for (int step = 0; step < steps; ++step) {
      const std::uint64_t before = reducer.stats().sent_bytes;
      reduced(reducer, gradient_of(job.topology().rank(), step));
      if (job.topology().rank() == 0) {
        result.push_back(reducer.stats().sent_bytes - before);
      }
    }
  });
  return result;
}

// The share falls by the same factor in each step.
TEST(TopK, WarmsUp) {
  const auto share = [](double of) {
    return static_cast<std::uint64_t>(std::ceil(of * kRows * kColumns)) * 8;
  };
  const double step = std::pow(0.05 / 0.4, 0.25);
  EXPECT_THAT(
      sent_in_steps(warming_top_k, 6),
      ElementsAre(share(0.4), share(0.4 * step), share(0.4 * std::pow(step, 2)),
                  share(0.4 * std::pow(step, 3)), share(0.05), share(0.05)));
}

TEST(Signs, WarmUpWithWholeGradients) {
  const auto make = [] { return signs({.warmup_steps = 2}); };
  EXPECT_THAT(sent_in_steps(make, 3),
              ElementsAre(4u * kRows * kColumns, 4u * kRows * kColumns,
                          4u + kRows * kColumns / 8));
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(job, {.compressor = make()});
    const Numbers got = reduced(reducer, gradient_of(job.topology().rank(), 0));
    EXPECT_LT(distance(got, mean_of_ranks(2, 0)), 1e-5);
  });
}

// The larger of two elements is sent. The other accumulates with momentum.
TEST(TopK, KeepsAVelocity) {
  for (const bool masks : {false, true}) {
    run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
      GradientReducer reducer(
          job, {.compressor = top_k(
                    {.share = 0.5, .momentum = 0.5, .mask_velocity = masks})});
      const auto step = [&](float large, float small) {
        Numbers gradient = {large, small};
        reducer.add("w", TensorView::of(gradient.data(), {2}));
        reducer.finish();
        return gradient;
      };
      EXPECT_THAT(step(8, 1), ElementsAre(8, 0));
      // The second element has u = 1.5 and v = 2.5.
      EXPECT_THAT(step(8, 1), ElementsAre(masks ? 8 : 12, 0));
      // First element: u = 6; second: u = 1.75 and v = 4.25.
      EXPECT_THAT(step(-6, 1), ElementsAre(masks ? -6 : 0, masks ? 0 : 4.25));
      if (!masks) {
        // u = 1.875.
        EXPECT_THAT(step(0, 1), ElementsAre(0, 1.875));
      }
    });
  }
}

// One rank of the paper's algorithm 1, on lists.
class DeepRank {
 public:
  explicit DeepRank(const TopKOptions& options) : options_(options) {}

  // The part of `gradient` that one of `ranks` ranks sends; 0 elsewhere.
  Numbers sent(Numbers gradient, int ranks) {
    const double limit = options_.max_norm / std::sqrt(ranks);
    const double norm = size_of(gradient);
    u_.resize(gradient.size());
    v_.resize(gradient.size());
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      if (norm > limit) gradient[i] *= static_cast<float>(limit / norm);
      u_[i] = static_cast<float>(options_.momentum) * u_[i] + gradient[i];
      v_[i] += u_[i];
      order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::abs(v_[a]) > std::abs(v_[b]);
    });
    order.resize(static_cast<std::size_t>(
        std::ceil(options_.share * static_cast<double>(gradient.size()))));
    Numbers result(gradient.size());
    for (const std::size_t i : order) {
      result[i] = v_[i];
      v_[i] = 0.0f;
      if (options_.mask_velocity) u_[i] = 0.0f;
    }
    return result;
  }

 private:
  const TopKOptions options_;
  Numbers u_;
  Numbers v_;
};

TEST(TopK, IsDeepGradientCompression) {
  for (const bool masks : {false, true}) {
    const TopKOptions options = {.share = 0.1,
                                 .momentum = 0.5,
                                 .mask_velocity = masks,
                                 .max_norm = 12.0};
    // Some of the gradients are clipped.
    ASSERT_GT(size_of(gradient_of(0, 0)), 12.0 / std::sqrt(2.0));
    run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
      GradientReducer reducer(
          job, {.op = ReduceOp::kSum, .compressor = top_k(options)});
      std::vector<DeepRank> ranks(2, DeepRank(options));
      for (int step = 0; step < 6; ++step) {
        const Numbers got =
            reduced(reducer, gradient_of(job.topology().rank(), step));
        Numbers expected = ranks[0].sent(gradient_of(0, step), 2);
        const Numbers other = ranks[1].sent(gradient_of(1, step), 2);
        for (std::size_t i = 0; i < other.size(); ++i) expected[i] += other[i];
        EXPECT_LT(distance(got, expected), 1e-5) << step;
      }
    });
  }
}

// The gradient (3, 4) is clipped to a norm of 2.5; the residual is not clipped.
TEST(TopK, ClipsTheGradientButNotTheResidual) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(
        job, {.compressor =
                  top_k({.share = 0.5, .max_norm = 2.5 * std::sqrt(2.0)})});
    const auto step = [&](float a, float b) {
      Numbers gradient = {a, b};
      reducer.add("w", TensorView::of(gradient.data(), {2}));
      reducer.finish();
      return gradient;
    };
    EXPECT_THAT(step(3, 4), ElementsAre(0, FloatEq(2)));
    EXPECT_THAT(step(3, 4), ElementsAre(FloatEq(3), 0));
    // Not clipped: the norm is 1.
    EXPECT_THAT(step(0, 1), ElementsAre(0, FloatEq(3)));
  });
}

TEST(TopK, SendsFewElementsWhole) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    GradientReducer reducer(
        job, {.compressor = top_k({.share = 0.25, .whole_below = 4})});
    Numbers few = {3, 1, 2};
    Numbers more = {3, 1, 2, 4};
    reducer.add("few", TensorView::of(few.data(), {3}));
    reducer.add("more", TensorView::of(more.data(), {4}));
    reducer.finish();
    EXPECT_THAT(few, ElementsAre(3, 1, 2));
    EXPECT_THAT(more, ElementsAre(0, 0, 0, 4));
    EXPECT_EQ(reducer.stats().sent_bytes, 3 * 4u + 1 * 8u);
  });
}

TEST(TopK, GoesOnFromAState) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    const auto make = [] {
      return top_k({.share = 0.1,
                    .warmup_steps = 5,
                    .warmup_share = 0.5,
                    .momentum = 0.9});
    };
    const int rank = job.topology().rank();
    std::shared_ptr<Compressor> first = make();
    std::vector<RememberedValues> saved;
    Numbers expected;
    {
      GradientReducer reducer(job, {.compressor = first});
      for (int step = 0; step < 3; ++step) {
        reduced(reducer, gradient_of(rank, step));
      }
      saved = first->state();
      expected = reduced(reducer, gradient_of(rank, 3));
    }
    std::shared_ptr<Compressor> second = make();
    second->load_state(saved);
    GradientReducer reducer(job, {.compressor = second});
    EXPECT_EQ(reduced(reducer, gradient_of(rank, 3)), expected);
  });
}

TEST(TopK, RefusesInvalidOptions) {
  EXPECT_THROW(top_k({.share = 0}), InvalidArgument);
  EXPECT_THROW(top_k({.warmup_share = 2}), InvalidArgument);
  EXPECT_THROW(top_k({.warmup_steps = -1}), InvalidArgument);
  EXPECT_THROW(top_k({.momentum = 1}), InvalidArgument);
  EXPECT_THROW(top_k({.whole_below = -1}), InvalidArgument);
  EXPECT_THROW(top_k({.max_norm = -1}), InvalidArgument);
  EXPECT_THROW(signs({.warmup_steps = -1}), InvalidArgument);
  EXPECT_THROW(signs({.momentum = -0.1}), InvalidArgument);
}

}  // namespace
}  // namespace hvd::compression
