// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/graph/sparse_gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/autograd/reentrant_checkpoint.h"
#include "horovodpp/checkpoint.h"
#include "horovodpp/core/error.h"
#include "test/autograd/support.h"

namespace hvd::autograd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Tensor places(const std::vector<std::int64_t>& all) {
  return from_vector(all, {static_cast<std::int64_t>(all.size())});
}

Tensor table() { return leaf({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}); }

Tensor looked_up(const Tensor& weight, const std::vector<std::int64_t>& rows) {
  return embedding(weight, places(rows), {.sparse = true});
}

std::vector<std::int64_t> rows_in(const SparseRows& x) {
  return x.rows.to_vector<std::int64_t>();
}

TEST(SparseRowsTest, AreAddedUpInAscendingOrder) {
  const SparseRows x = {
      places({3, 1, 3}), constant({1, 2, 3, 4, 5, 6}, {3, 2}), {4, 2}};
  const SparseRows once = coalesced(x);
  EXPECT_THAT(rows_in(once), ElementsAre(1, 3));
  EXPECT_THAT(values(once.values), ElementsAre(3, 4, 6, 8));
  EXPECT_THAT(values(dense(x)), ElementsAre(0, 0, 3, 4, 0, 0, 6, 8));
  EXPECT_EQ(values(dense(once)), values(dense(x)));
  EXPECT_TRUE(coalesced(once).values.is_same(once.values));
}

TEST(SparseRowsTest, OfSixteenBitsAreAddedUpInFloat32) {
  std::vector<std::int64_t> same(300, 2);
  const SparseRows sum = coalesced(
      {places(same), ones({300, 1}, {.dtype = DType::kBF16}), {3, 1}});
  EXPECT_EQ(sum.values.dtype(), DType::kBF16);
  EXPECT_EQ(sum.values.to(DType::kF32).item<float>(), 300);
}

TEST(SparseRowsTest, MayBeEmpty) {
  const SparseRows none = no_rows({4, 2}, DType::kF64);
  EXPECT_THAT(rows_in(coalesced(none)), IsEmpty());
  EXPECT_THAT(values(dense(none)), testing::Each(0));
  EXPECT_THAT(rows_in(joined(none, none)), IsEmpty());
}

TEST(SparseRowsTest, AreTheNonzeroRowsOfATensor) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = constant({0, 0, 0, 1, 0, 0, nan, 0}, {4, 2});
  EXPECT_THAT(rows_in(nonzero_rows(x)), ElementsAre(1, 3));
  EXPECT_THAT(rows_in(all_rows(x)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(values(nonzero_rows(table().detach()).values),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(SparseRowsTest, GoTogetherOrAreRefused) {
  const Tensor two = constant({1, 2, 3, 4}, {2, 2});
  EXPECT_ERROR(InvalidArgument, "row 4 is none of 4",
               check_sparse_rows({places({1, 4}), two, {4, 2}}, "x"));
  EXPECT_ERROR(InvalidArgument, "row -1 is none of 4",
               check_sparse_rows({places({-1, 0}), two, {4, 2}}, "x"));
  EXPECT_ERROR(InvalidArgument, "are not of [3,2]",
               check_sparse_rows({places({1, 2, 3}), two, {4, 2}}, "x"));
  EXPECT_ERROR(InvalidArgument, "not int64[n]",
               check_sparse_rows({two, two, {4, 2}}, "x"));
  EXPECT_ERROR(InvalidArgument, "need rows", check_sparse_rows({}, "x"));
  EXPECT_ERROR(
      InvalidArgument, "cannot be joined",
      joined(no_rows({4, 2}, DType::kF64), no_rows({4, 3}, DType::kF64)));
}

// Item 221.
TEST(SparseGradient, IsOfTheRowsThatWereLookedUp) {
  const Tensor weight = table();
  (looked_up(weight, {2, 0, 2}) * constant({1, 2, 3, 4, 5, 6}, {3, 2}))
      .sum()
      .backward();
  ASSERT_TRUE(has_sparse_grad(weight));
  EXPECT_TRUE(expects_sparse_grad(weight));
  const SparseRows gradient = sparse_grad(weight);
  EXPECT_THAT(rows_in(gradient), ElementsAre(2, 0, 2));
  EXPECT_THAT(values(gradient.values), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(gradient.shape, weight.shape());
  EXPECT_THAT(values(dense_grad(weight)), ElementsAre(3, 4, 0, 0, 6, 8, 0, 0));
  EXPECT_ERROR(InvalidArgument, "is sparse; ask", weight.grad());
}

TEST(SparseGradient, IsTheDenseOne) {
  const auto gradient_with = [](bool sparse) {
    const Tensor weight = table();
    const Tensor x = embedding(weight, places({3, 1, 1, 0}),
                               {.padding_index = 0, .sparse = sparse});
    (x * x * x).sum().backward();
    EXPECT_EQ(has_sparse_grad(weight), sparse);
    return values(dense_grad(weight));
  };
  EXPECT_EQ(gradient_with(true), gradient_with(false));
}

TEST(SparseGradient, LeavesOutThePadding) {
  const Tensor weight = table();
  embedding(weight, places({1, 0, 1}), {.padding_index = 1, .sparse = true})
      .sum()
      .backward();
  EXPECT_THAT(rows_in(sparse_grad(weight)), ElementsAre(0));
}

TEST(SparseGradient, OfNoIndicesHasNoRows) {
  const Tensor weight = table();
  looked_up(weight, {}).sum().backward();
  EXPECT_THAT(rows_in(sparse_grad(weight)), IsEmpty());
}

TEST(SparseGradient, OfSeveralLookUpsAndPassesHasAllTheirRows) {
  const Tensor weight = table();
  for (int pass = 0; pass < 2; ++pass) {
    (looked_up(weight, {1}) + looked_up(weight, {3})).sum().backward();
  }
  const SparseRows gradient = sparse_grad(weight);
  EXPECT_EQ(gradient.rows.num_elements(), 4);
  EXPECT_THAT(values(dense(gradient)), ElementsAre(0, 0, 2, 2, 0, 0, 2, 2));
}

TEST(SparseGradient, NeverGrowsBeyondTheTable) {
  const Tensor weight = table();
  for (int pass = 0; pass < 5; ++pass) {
    looked_up(weight, {1, 1, 2}).sum().backward();
  }
  EXPECT_LE(sparse_grad(weight).rows.num_elements(), 4);
  EXPECT_THAT(values(dense_grad(weight)),
              ElementsAre(0, 0, 10, 10, 5, 5, 0, 0));
}

// In either order, in one backward or in two.
TEST(SparseGradient, BecomesDenseBesideADenseOne) {
  for (const bool dense_first : {false, true}) {
    for (const bool at_once : {false, true}) {
      const Tensor weight = table();
      const auto dense_part = [&] { return (weight * 2.0).sum(); };
      const auto sparse_part = [&] { return looked_up(weight, {3}).sum(); };
      if (at_once) {
        (dense_first ? dense_part() + sparse_part()
                     : sparse_part() + dense_part())
            .backward();
      } else {
        (dense_first ? dense_part() : sparse_part()).backward();
        (dense_first ? sparse_part() : dense_part()).backward();
      }
      EXPECT_FALSE(has_sparse_grad(weight));
      EXPECT_THAT(values(weight.grad()), ElementsAre(2, 2, 2, 2, 2, 2, 3, 3));
    }
  }
}

TEST(SparseGradient, IsDenseAtANonLeaf) {
  const Tensor weight = table();
  const Tensor doubled = weight * 2.0;
  doubled.retain_grad();
  looked_up(doubled, {1, 1}).sum().backward();
  EXPECT_THAT(values(doubled.grad()), ElementsAre(0, 0, 2, 2, 0, 0, 0, 0));
  EXPECT_THAT(values(weight.grad()), ElementsAre(0, 0, 4, 4, 0, 0, 0, 0));
  EXPECT_FALSE(expects_sparse_grad(weight));
}

TEST(SparseGradient, IsWholeAsAResultOfGrad) {
  const Tensor weight = table();
  const Tensor x = looked_up(weight, {2});
  EXPECT_THAT(values(grad({x.sum()}, {weight})[0]),
              ElementsAre(0, 0, 0, 0, 1, 1, 0, 0));
}

TEST(SparseGradient, IsDenseWhereItMayBeDifferentiatedAgain) {
  const Tensor weight = table();
  const Tensor x = looked_up(weight, {2, 2});
  const Tensor first =
      grad({(x * x).sum()}, {weight}, {}, {.create_graph = true})[0];
  EXPECT_THAT(values(grad({first.sum()}, {weight})[0]),
              ElementsAre(0, 0, 0, 0, 4, 4, 0, 0));
}

TEST(SparseGradient, HooksReadItsValuesButCannotReplaceThem) {
  const Tensor weight = table();
  std::vector<double> seen;
  int accumulated = 0;
  auto look = weight.register_hook(
      [&](const Tensor& gradient) { seen = values(gradient); });
  weight.register_post_accumulate_grad_hook(
      [&](const Tensor&) { ++accumulated; });
  (looked_up(weight, {1}) + looked_up(weight, {3}) * 2.0).sum().backward();
  EXPECT_THAT(seen, testing::UnorderedElementsAre(1, 1, 2, 2));
  EXPECT_EQ(accumulated, 1);
  look.remove();
  weight.register_hook([](const Tensor& gradient) { return gradient * 2.0; });
  EXPECT_ERROR(HookError, "replaced its sparse gradient",
               looked_up(weight, {1, 2, 3, 0}).sum().backward());
}

// The gradient shares no memory with other tensors or with the indices.
TEST(SparseGradient, SharesNoMemory) {
  const Tensor weight = table();
  const Tensor rows = places({0, 1});
  const Tensor x = embedding(weight, rows, {.sparse = true});
  x.retain_grad();
  x.sum().backward();
  x.grad().fill_(7);
  rows.fill_(3);
  EXPECT_THAT(values(dense_grad(weight)), ElementsAre(1, 1, 1, 1, 0, 0, 0, 0));
}

TEST(SparseGradient, SurvivesCheckpointsOfEitherKind) {
  for (const bool reentrant : {false, true}) {
    const Tensor weight = table();
    const auto region = [&](const Tensor& x) {
      return tanh(x * looked_up(weight, {1, 2}));
    };
    const Tensor x = leaf({1, 2, 3, 4}, {2, 2});
    CheckpointOptions options;
    options.use_reentrant = reentrant;
    checkpoint(region, x, options).sum().backward();
    EXPECT_TRUE(has_sparse_grad(weight));
    const Tensor other = table();
    tanh(x.detach() * embedding(other, places({1, 2}))).sum().backward();
    EXPECT_EQ(values(dense_grad(weight)), values(other.grad()));
  }
}

// The weight is an input of the region, not a leaf of its own.
TEST(SparseGradient, LeavesAReentrantRegionWhole) {
  const Tensor weight = table();
  const std::vector<Tensor> results = checkpoint_reentrant(
      [](const std::vector<Tensor>& inputs) {
        return std::vector<Tensor>{looked_up(inputs[0], {1, 1})};
      },
      {weight});
  results[0].sum().backward();
  EXPECT_THAT(values(dense_grad(weight)), ElementsAre(0, 0, 2, 2, 0, 0, 0, 0));
}

TEST(SparseGradient, CanBeSetAndTaken) {
  const Tensor weight = table();
  EXPECT_ERROR(InvalidArgument, "no gradient", sparse_grad(weight));
  set_sparse_grad(weight, {places({3}), constant({1, 2}, {1, 2}), {4, 2}});
  EXPECT_THAT(values(dense_grad(weight)), ElementsAre(0, 0, 0, 0, 0, 0, 1, 2));
  EXPECT_ERROR(InvalidArgument, "do not fit",
               set_sparse_grad(weight, no_rows({4, 3}, DType::kF64)));
  EXPECT_ERROR(InvalidArgument, "do not fit",
               set_sparse_grad(weight, no_rows({4, 2}, DType::kF32)));
  weight.set_grad(Tensor());
  EXPECT_FALSE(has_sparse_grad(weight));
  EXPECT_FALSE(weight.grad().defined());
  weight.set_grad(ones64({4, 2}));
  EXPECT_ERROR(InvalidArgument, "not sparse", sparse_grad(weight));
}

}  // namespace
}  // namespace hvd::autograd
