// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/distributed/delta_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/layers/linear.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"
#include "horovodpp/runtime/runtime.h"
#include "test/autograd/support.h"

namespace hvd::optim {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

using Numbers = std::vector<double>;
using Make =
    std::function<std::unique_ptr<Optimizer>(std::vector<nn::NamedTensor>)>;

const Make kMomentum = [](std::vector<nn::NamedTensor> all) {
  return std::make_unique<SGD>(
      std::move(all), SGDOptions{.learning_rate = 0.5, .momentum = 0.5});
};
const Make kFastAdamW = [](std::vector<nn::NamedTensor> all) {
  return std::make_unique<AdamW>(std::move(all),
                                 AdamWOptions{.learning_rate = 0.125});
};

struct Weights2 {
  std::vector<nn::NamedTensor> named() const { return {{"a", a}, {"b", b}}; }
  // The loss of rank r in a step; only some steps of some ranks reach b.
  Tensor loss(int rank, int step) const {
    const Tensor input = constant({1.0 + rank, -0.5 * step, 2.0 - rank}, {3});
    Tensor all = (a * a * input).sum();
    if ((rank + step) % 2 == 0) all = all + (b * input).sum();
    return all;
  }
  Tensor a = hvd::leaf({1, 2, 3}, {3});
  Tensor b = hvd::leaf({-1, 0.5, 2}, {3});
};

double dot(const Numbers& x, const Numbers& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

// The formula of the paper, for two vectors.
Numbers adasum(const Numbers& x, const Numbers& y) {
  const double xx = dot(x, x);
  const double yy = dot(y, y);
  const double xy = dot(x, y);
  const double of_x = xx > 0 ? 1 - xy / (2 * xx) : 1;
  const double of_y = yy > 0 ? 1 - xy / (2 * yy) : 1;
  Numbers result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    result.push_back(of_x * x[i] + of_y * y[i]);
  }
  return result;
}

Numbers minus(Numbers x, const Numbers& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
  return x;
}

void set(const Tensor& tensor, const Numbers& numbers) {
  const NoGrad no_grad;
  tensor.copy_(constant(numbers, tensor.shape()));
}

// The result of two ranks, computed by one process that holds both. Each rank
// makes the wrapped optimizer's step from the common weights, along its
// gradients or zeros.
std::vector<Numbers> expected_of_two(const Make& make, int steps) {
  std::vector<Weights2> ranks(2);
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  for (const Weights2& each : ranks) optimizers.push_back(make(each.named()));
  for (int step = 0; step < steps; ++step) {
    std::vector<std::vector<Numbers>> starts(2);
    std::vector<std::vector<Numbers>> deltas(2);
    for (int r = 0; r < 2; ++r) {
      const auto at = static_cast<std::size_t>(r);
      optimizers[at]->zero_grad();
      ranks[at].loss(r, step).backward();
      for (const auto& [name, tensor] : ranks[at].named()) {
        if (!tensor.grad().defined()) tensor.set_grad(constant({0, 0, 0}, {3}));
        starts[at].push_back(values(tensor));
      }
      optimizers[at]->step();
      for (std::size_t p = 0; p < 2; ++p) {
        deltas[at].push_back(
            minus(values(ranks[at].named()[p].tensor), starts[at][p]));
      }
    }
    for (std::size_t p = 0; p < 2; ++p) {
      const Numbers change = adasum(deltas[0][p], deltas[1][p]);
      for (const Weights2& each : ranks) {
        Numbers now = starts[0][p];
        for (std::size_t i = 0; i < now.size(); ++i) now[i] += change[i];
        set(each.named()[p].tensor, now);
      }
    }
  }
  return {values(ranks[0].a), values(ranks[0].b)};
}

TEST(DeltaOptimizer, AddsTheAdasumOfTheRanksSteps) {
  for (const Make& make : {kMomentum, kFastAdamW}) {
    const std::vector<Numbers> expected = expected_of_two(make, 3);
    run_ranks(2, [&] {
      const Weights2 mine;
      DeltaOptimizer optimizer(make(mine.named()));
      for (int step = 0; step < 3; ++step) {
        optimizer.zero_grad();
        mine.loss(rank(), step).backward();
        optimizer.step();
      }
      EXPECT_THAT(values(mine.a), Pointwise(DoubleNear(1e-12), expected[0]));
      EXPECT_THAT(values(mine.b), Pointwise(DoubleNear(1e-12), expected[1]));
    });
  }
}

TEST(DeltaOptimizer, MakesTheWrappedStepOnOneRank) {
  run_ranks(1, [] {
    const Weights2 mine;
    const Weights2 other;
    DeltaOptimizer optimizer(kFastAdamW(mine.named()));
    const auto plain = kFastAdamW(other.named());
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      plain->zero_grad();
      mine.loss(0, 2 * step).backward();
      other.loss(0, 2 * step).backward();
      optimizer.step();
      plain->step();
    }
    EXPECT_EQ(values(mine.a), values(other.a));
    EXPECT_EQ(values(mine.b), values(other.b));
    EXPECT_EQ(optimizer.state_dict().size(), plain->state_dict().size());
  });
}

TEST(DeltaOptimizer, LeavesAllRanksWithTheSameBits) {
  for (const int ranks : {2, 3, 4}) {
    for (const ReduceOp op : {ReduceOp::kAdasum, ReduceOp::kAverage}) {
      const auto all = run_ranks(ranks, [&] {
        const Weights2 mine;
        DeltaOptimizer optimizer(kMomentum(mine.named()), {.op = op});
        for (int step = 0; step < 3; ++step) {
          const Tensor loss = optimizer.step([&] {
            optimizer.zero_grad();
            Tensor result = mine.loss(rank(), step);
            result.backward();
            return result;
          });
          EXPECT_TRUE(loss.defined());
        }
        return values(cat({mine.a.detach(), mine.b.detach()}));
      });
      for (const Numbers& each : all) EXPECT_EQ(each, all[0]);
    }
  }
}

// If all ranks have the same delta, Adasum averages the deltas: the result is
// one rank's delta.
TEST(DeltaOptimizer, AveragesParallelVectors) {
  run_ranks(4, [] {
    const Tensor w = hvd::leaf({1, 2}, {2});
    DeltaOptimizer optimizer(
        std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"w", w}},
                              SGDOptions{.learning_rate = 1}));
    w.sum().backward();
    optimizer.step();
    EXPECT_THAT(values(w), Pointwise(DoubleNear(1e-12), {0.0, 1.0}));
  });
}

TEST(DeltaOptimizer, WaitsForAllPasses) {
  run_ranks(2, [] {
    const Tensor w = hvd::leaf({1, 2}, {2});
    DeltaOptimizer optimizer(
        std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"w", w}},
                              SGDOptions{.learning_rate = 1}),
        {.backward_passes_per_step = 2});
    w.sum().backward();
    EXPECT_THAT(values(w), ElementsAre(1, 2));
    w.sum().backward();
    EXPECT_THAT(values(w), ElementsAre(-1, 0));
    EXPECT_ERROR(Error, "Gradients were computed more than",
                 w.sum().backward());
    EXPECT_ERROR(Error, "optimizer.zero_grad() was called after",
                 optimizer.zero_grad());
    optimizer.step();
    EXPECT_THAT(values(w), Pointwise(DoubleNear(1e-12), {-1.0, 0.0}));
    optimizer.zero_grad();
  });
}

TEST(DeltaOptimizer, TakesParametersThatAreThawedLater) {
  run_ranks(2, [] {
    const Weights2 mine;
    Tensor b = mine.b;
    b.set_requires_grad(false);
    DeltaOptimizer optimizer(kMomentum(mine.named()));
    mine.a.sum().backward();
    optimizer.step();
    EXPECT_THAT(values(b), ElementsAre(-1, 0.5, 2));
    b.set_requires_grad(true);
    optimizer.zero_grad();
    (mine.a.sum() + b.sum()).backward();
    optimizer.step();
    EXPECT_THAT(values(b), ElementsAre(-1.5, 0, 1.5));
  });
}

TEST(DeltaOptimizer, PutsWeightsBackIfAReductionFails) {
  std::atomic<int> failed = 0;
  const auto program = [&] {
    const Tensor w = hvd::leaf({1, 2}, {2});
    DeltaOptimizer optimizer(
        std::make_unique<SGD>(std::vector<nn::NamedTensor>{{"w", w}},
                              SGDOptions{.learning_rate = 1}));
    // Aborts before its delta is sent, so the reduction cannot succeed.
    if (rank() == 1) current_runtime().abort("this rank has had enough");
    w.sum().backward();
    EXPECT_THROW(optimizer.step(), Error);
    EXPECT_THAT(values(w), ElementsAre(1, 2));
    ++failed;
  };
  EXPECT_THROW(run_ranks(2, program), Error);
  EXPECT_EQ(failed, 2);
}

TEST(DeltaOptimizer, RefusesInvalidOptions) {
  run_ranks(1, [] {
    const Weights2 mine;
    EXPECT_ERROR(InvalidArgument, "no optimizer to wrap",
                 DeltaOptimizer(nullptr));
    EXPECT_ERROR(
        InvalidArgument, "op sum makes no step",
        DeltaOptimizer(kFastAdamW(mine.named()), {.op = ReduceOp::kSum}));
    EXPECT_ERROR(InvalidArgument, "it must be at least 1",
                 DeltaOptimizer(kFastAdamW(mine.named()),
                                {.backward_passes_per_step = 0}));
    const DistributedOptimizer other(kFastAdamW(mine.named()));
    EXPECT_ERROR(InvalidArgument, "is reduced by another",
                 DeltaOptimizer(kFastAdamW(mine.named())));
    nn::Embedding table(3, 2, {.sparse = true});
    EXPECT_ERROR(InvalidArgument, "is sparse",
                 DeltaOptimizer(kFastAdamW(table.named_parameters())));
  });
}

// A user-defined optimizer that only implements step().
class Halving : public Optimizer {
 public:
  explicit Halving(std::vector<nn::NamedTensor> all)
      : Optimizer(std::move(all)) {}
  void step() override {
    const NoGrad no_grad;
    for (const auto& [name, tensor] : parameters()) {
      if (tensor.grad().defined()) tensor.mul_(0.5);
    }
  }
  std::vector<nn::NamedTensor> state() const override { return {}; }
  nn::StateDict state_dict() const override { return {}; }
  void load_state_dict(const nn::StateDict&, const nn::LoadOptions&) override {}
  std::vector<double> learning_rates() const override { return {1}; }
  void set_learning_rates(const std::vector<double>&) override {}
};

TEST(DeltaOptimizer, WrapsAnyOptimizer) {
  run_ranks(2, [] {
    const Weights2 mine;
    DeltaOptimizer optimizer(std::make_unique<Halving>(mine.named()));
    (mine.a.sum() + mine.b.sum()).backward();
    optimizer.step();
    EXPECT_THAT(values(mine.a), Pointwise(DoubleNear(1e-12), {0.5, 1.0, 1.5}));
    EXPECT_THAT(values(mine.b),
                Pointwise(DoubleNear(1e-12), {-0.5, 0.25, 1.0}));
    EXPECT_TRUE(mine.a.grad().defined());
  });
}

}  // namespace
}  // namespace hvd::optim
