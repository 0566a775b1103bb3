// SPDX-License-Identifier: Apache-2.0
// Steps along sparse gradients, in one process and on several ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/layers/linear.h"
#include "horovodpp/optim/adagrad.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/clip_grad.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/optim/sparse_adam.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"
#include "test/autograd/support.h"

namespace hvd::optim {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;
using Rows = std::vector<std::int64_t>;

Tensor indices(const Rows& rows) {
  return from_vector(rows, {static_cast<std::int64_t>(rows.size())});
}

Tensor table() { return hvd::leaf({1, 2, 3, 4, 5, 6}, {3, 2}); }

Tensor loss(const Tensor& weight, const Rows& rows, bool sparse = true) {
  const Tensor x = embedding(weight, indices(rows), {.sparse = sparse});
  return (x * x * constant({1, -0.5}, {2})).sum();
}

using MakeForSparse =
    std::function<std::unique_ptr<Optimizer>(std::vector<Tensor>)>;

// The table after three steps, each of which looks up different rows.
std::vector<double> moved(const MakeForSparse& make, bool sparse) {
  const Tensor weight = table();
  const auto optimizer = make({weight});
  for (const Rows& rows : {Rows{0, 2, 0}, Rows{2}, Rows{0, 1}}) {
    optimizer->zero_grad();
    loss(weight, rows, sparse).backward();
    optimizer->step();
  }
  return values(weight);
}

const MakeForSparse kAdagrad = [](std::vector<Tensor> all) {
  return std::make_unique<Adagrad>(
      all, AdagradOptions{.learning_rate = 0.1,
                          .learning_rate_decay = 0.5,
                          .initial_accumulator_value = 0.25,
                          .eps = 1e-3});
};
const MakeForSparse kSparseAdam = [](std::vector<Tensor> all) {
  return std::make_unique<SparseAdam>(
      all, SparseAdamOptions{
               .learning_rate = 0.1, .beta1 = 0.8, .beta2 = 0.9, .eps = 1e-2});
};
const MakeForSparse kPlainSgd = [](std::vector<Tensor> all) {
  return std::make_unique<SGD>(all, SGDOptions{.learning_rate = 0.1});
};

// PyTorch computed the expected numbers.
TEST(SparseSteps, AreThoseOfPyTorch) {
  EXPECT_THAT(
      moved(kSparseAdam, true),
      Pointwise(DoubleNear(1e-14),
                {0.8210537568458626, 2.1810611072793042, 2.9328861895556755,
                 4.066938337262088, 4.80061035394716, 6.199142629537946}));
  EXPECT_THAT(
      moved(kAdagrad, true),
      Pointwise(DoubleNear(1e-14),
                {0.8804001812244628, 2.1222918500384926, 2.9501809865755075,
                 4.049601589195781, 4.8535052323468895, 6.147078578076967}));
  EXPECT_THAT(moved(kPlainSgd, true),
              Pointwise(DoubleNear(1e-14), {0.48, 2.64, 2.4, 4.4, 3.2, 7.26}));
}

TEST(SparseSteps, OfAdagradAlongDenseGradientsAreThoseOfPyTorch) {
  const MakeForSparse decaying = [](std::vector<Tensor> all) {
    return std::make_unique<Adagrad>(
        all, AdagradOptions{.learning_rate = 0.1,
                            .learning_rate_decay = 0.5,
                            .weight_decay = 0.1,
                            .initial_accumulator_value = 0.25,
                            .eps = 1e-3});
  };
  EXPECT_THAT(
      moved(decaying, false),
      Pointwise(DoubleNear(1e-14),
                {0.878523549817258, 2.1175181188951604, 2.8688896653790485,
                 3.9516314985501593, 4.8518416238263, 6.143006533986668}));
}

// For options with which absent rows would not move in a dense step either.
TEST(SparseSteps, AreTheDenseOnes) {
  EXPECT_EQ(moved(kPlainSgd, true), moved(kPlainSgd, false));
  EXPECT_EQ(moved(kAdagrad, true), moved(kAdagrad, false));
}

TEST(SparseSteps, GoOnFromAState) {
  for (const MakeForSparse& make : {kAdagrad, kSparseAdam}) {
    const Tensor weight = table();
    auto optimizer = make({weight});
    const auto step = [&](const Rows& rows) {
      optimizer->zero_grad();
      loss(weight, rows).backward();
      optimizer->step();
    };
    step({0, 2});
    const nn::StateDict saved = optimizer->state_dict();
    optimizer = make({weight});
    optimizer->load_state_dict(saved);
    step({2});
    const Tensor other = table();
    auto through = make({other});
    for (const Rows& rows : {Rows{0, 2}, Rows{2}}) {
      through->zero_grad();
      loss(other, rows).backward();
      through->step();
    }
    EXPECT_EQ(values(weight), values(other));
  }
}

TEST(SparseSteps, AreRefusedByOptimizersThatMoveAllRows) {
  const Tensor weight = table();
  loss(weight, {1}).backward();
  const std::vector<Tensor> all = {weight};
  EXPECT_ERROR(InvalidArgument, "Adam does not go along the sparse gradient",
               Adam(all).step());
  EXPECT_ERROR(InvalidArgument, "SGD with momentum or weight decay",
               SGD(all, SGDOptions{.momentum = 0.9}).step());
  EXPECT_ERROR(InvalidArgument, "SGD with momentum or weight decay",
               SGD(all, SGDOptions{.weight_decay = 0.1}).step());
  EXPECT_ERROR(InvalidArgument, "Adagrad with weight decay",
               Adagrad(all, AdagradOptions{.weight_decay = 0.1}).step());
  EXPECT_EQ(values(weight), values(table()));
  weight.set_grad(ones64({3, 2}));
  EXPECT_ERROR(InvalidArgument, "along sparse gradients only",
               SparseAdam(all).step());
}

TEST(SparseSteps, RefuseInvalidOptions) {
  const std::vector<Tensor> all = {table()};
  EXPECT_THROW(SparseAdam(all, SparseAdamOptions{.beta1 = 1}), InvalidArgument);
  EXPECT_THROW(SparseAdam(all, SparseAdamOptions{.eps = -1}), InvalidArgument);
  EXPECT_THROW(Adagrad(all, AdagradOptions{.eps = std::nan("")}),
               InvalidArgument);
}

TEST(SparseSteps, OfOneParameterLeaveTheOthers) {
  for (const MakeForSparse& make : {kPlainSgd, kAdagrad, kSparseAdam}) {
    const Tensor a = table();
    const Tensor b = table();
    const auto optimizer = make({a, b});
    (loss(a, {0}) + loss(b, {0})).backward();
    optimizer->step_of(1);
    EXPECT_EQ(values(a), values(table()));
    EXPECT_NE(values(b), values(table()));
  }
}

TEST(SparseGradients, AreClippedByTheNormOfEachRowOnce) {
  const Tensor weight = table();
  const Tensor other = hvd::leaf({2}, {1});
  const Tensor twice = embedding(weight, indices({1, 1}), {.sparse = true});
  (twice.sum() + other.sum() * 3.0).backward();
  EXPECT_DOUBLE_EQ(clip_grad_norm_({weight, other}, 1.0),
                   std::sqrt(4.0 + 4.0 + 9.0));
  EXPECT_NEAR(values(other.grad())[0], 3 / std::sqrt(17.0), 1e-6);
  EXPECT_NEAR(values(autograd::dense_grad(weight))[2], 2 / std::sqrt(17.0),
              1e-6);
}

TEST(SparseGradients, AreForgottenByZeroGrad) {
  nn::Embedding module(3, 2, {.sparse = true});
  for (const bool set_to_none : {true, false}) {
    module(indices({1})).sum().backward();
    ASSERT_TRUE(autograd::has_sparse_grad(module.weight()));
    module.zero_grad(set_to_none);
    EXPECT_EQ(autograd::has_sparse_grad(module.weight()), !set_to_none);
    const Tensor rest = autograd::dense_grad(module.weight());
    if (!set_to_none) {
      EXPECT_THAT(rest.to_vector<float>(), testing::Each(0));
    }
  }
}

// The rows that rank r of n looks up in a step: none, one or two.
Rows rows_of(int rank, int step) {
  Rows rows;
  for (int i = 0; i < (rank + step) % 3; ++i) {
    rows.push_back((rank * 2 + step + i) % 3);
  }
  return rows;
}

// The result of one process along the sum of all ranks' gradients.
std::vector<double> expected_table(int ranks, const MakeForSparse& make) {
  const Tensor weight = table();
  const auto optimizer = make({weight});
  for (int step = 0; step < 4; ++step) {
    optimizer->zero_grad();
    for (int rank = 0; rank < ranks; ++rank) {
      loss(weight, rows_of(rank, step)).backward();
    }
    optimizer->step();
  }
  return values(weight);
}

std::vector<double> trained_table(int ranks, const MakeForSparse& make,
                                  const DistributedOptions& options) {
  const auto all = run_ranks(ranks, [&] {
    const Tensor weight = table();
    autograd::expect_sparse_grad(weight);
    DistributedOptimizer optimizer(make({weight}), options);
    for (int step = 0; step < 4; ++step) {
      optimizer.zero_grad();
      loss(weight, rows_of(rank(), step)).backward();
      optimizer.step();
      EXPECT_TRUE(autograd::has_sparse_grad(weight));
    }
    EXPECT_EQ(optimizer.reduced().gradients, 4u);
    return values(weight);
  });
  for (const auto& each : all) EXPECT_EQ(each, all[0]);
  return all[0];
}

// Uneven numbers of rows, also none.
TEST(SparseGradients, OfRanksAreThoseOfOneProcess) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const MakeForSparse& make : {kPlainSgd, kAdagrad, kSparseAdam}) {
      const std::vector<double> expected = expected_table(ranks, make);
      for (const bool as_dense : {false, true}) {
        EXPECT_THAT(trained_table(ranks, make,
                                  {.op = ReduceOp::kSum,
                                   .groups = 1,
                                   .sparse_as_dense = as_dense}),
                    Pointwise(DoubleNear(1e-12), expected))
            << ranks << " ranks, as dense " << as_dense;
      }
    }
  }
}

TEST(SparseGradients, AreAveraged) {
  run_ranks(2, [] {
    const Tensor weight = table();
    DistributedOptimizer optimizer(
        kPlainSgd({weight}),
        {.gradient_predivide_factor = 2, .average_passes = true});
    embedding(weight, indices(rank() == 0 ? Rows{0, 0} : Rows{0, 1}),
              {.sparse = true})
        .sum()
        .backward();
    optimizer.synchronize();
    const SparseRows mean = autograd::sparse_grad(weight);
    EXPECT_THAT(mean.rows.to_vector<std::int64_t>(), ElementsAre(0, 1));
    EXPECT_THAT(values(mean.values), ElementsAre(1.5, 1.5, 0.5, 0.5));
    const auto skip = optimizer.skip_synchronize();
    optimizer.step();
    EXPECT_THAT(values(weight), Pointwise(DoubleNear(1e-12),
                                          {0.85, 1.85, 2.95, 3.95, 5.0, 6.0}));
  });
}

// One rank's backward does not reach the table, and another rank uses it as a
// whole. Item 222.
TEST(SparseGradients, CombineWithMissingAndDenseGradients) {
  for (const bool as_dense : {false, true}) {
    run_ranks(3, [&] {
      const Tensor weight = table();
      const Tensor other = hvd::leaf({1}, {1});
      autograd::expect_sparse_grad(weight);
      DistributedOptimizer optimizer(
          kPlainSgd({weight, other}),
          {.op = ReduceOp::kSum, .sparse_as_dense = as_dense});
      Tensor total = other.sum();
      if (rank() == 1) {
        total = total + embedding(weight, indices({2}), {.sparse = true}).sum();
      }
      if (rank() == 2) total = total + weight.sum();
      total.backward();
      optimizer.step();
      EXPECT_THAT(values(weight),
                  Pointwise(DoubleNear(1e-12), {0.9, 1.9, 2.9, 3.9, 4.8, 5.8}));
      EXPECT_THAT(values(other), Pointwise(DoubleNear(1e-12), {0.7}));
    });
  }
}

TEST(SparseGradients, AreClippedAndWeightedWithTheOthers) {
  run_ranks(2, [] {
    const Tensor weight = table();
    DistributedOptimizer optimizer(kPlainSgd({weight}));
    embedding(weight, indices({rank()}), {.sparse = true}).sum().backward();
    const StepResult result =
        optimizer.step({.max_norm = 1.0, .weight = rank() == 0 ? 3.0 : 1.0});
    // The mean over 4 samples of rows 0 and 1, each of two ones.
    EXPECT_DOUBLE_EQ(*result.norm, 0.5);
    EXPECT_THAT(
        values(weight),
        Pointwise(DoubleNear(1e-12), {0.975, 1.975, 2.975, 3.975, 5.0, 6.0}));
  });
}

TEST(SparseGradients, RefuseOtherOps) {
  run_ranks(2, [] {
    nn::Embedding module(3, 2, {.sparse = true});
    const auto with = [&](const DistributedOptions& options) {
      DistributedOptimizer(
          std::make_unique<SGD>(module.named_parameters(), SGDOptions()),
          options);
    };
    EXPECT_ERROR(InvalidArgument, "cannot be reduced with op",
                 with({.op = ReduceOp::kAdasum}));
    EXPECT_NO_THROW(with({.op = ReduceOp::kAdasum, .sparse_as_dense = true}));
  });
}

TEST(SparseGradients, OfTablesOfOtherSizesAreAnError) {
  run_ranks(2, [] {
    const Tensor weight =
        zeros({rank() == 0 ? 3 : 5, 2}, {.requires_grad = true});
    DistributedOptimizer optimizer(kPlainSgd({weight}));
    embedding(weight, indices({rank() == 0 ? 0 : 4}), {.sparse = true})
        .sum()
        .backward();
    if (rank() == 0) {
      EXPECT_ERROR(InvalidArgument, "row 4 is none of 3", optimizer.step());
    } else {
      optimizer.step();
    }
  });
}

// Ranks differ in whether the gradient is sparse, and have not been told.
TEST(SparseGradients, OfOneRankAloneAreAMismatch) {
  run_ranks(2, [] {
    const Tensor weight = table();
    DistributedOptimizer optimizer(kPlainSgd({weight}));
    if (rank() == 0) {
      embedding(weight, indices({1}), {.sparse = true}).sum().backward();
    } else {
      weight.sum().backward();
    }
    EXPECT_THROW(optimizer.step(), Error);
  });
}

}  // namespace
}  // namespace hvd::optim
