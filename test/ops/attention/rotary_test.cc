// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/attention/rotary.h"

#include <gmock/gmock.h>

#include "horovodpp/checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

TEST(RotaryEmbedding, HasItsDerivatives) {
  for (const bool interleaved : {false, true}) {
    const RotaryOptions options{
        .base = 10, .offset = 2, .interleaved = interleaved};
    check_grid([&](const Inputs& x) { return rotary_embedding(x[0], options); },
               {{2, 3, 4}});
    // Its square has a second derivative that is not 0.
    check_grid(
        [&](const Inputs& x) {
          const Tensor y = rotary_embedding(x[0], options);
          return y * y * y;
        },
        {{3, 2}});
  }
}

TEST(RotaryEmbedding, DependsOnDistancesAlone) {
  manual_seed(2);
  const Tensor q = randn({1, 8}), k = randn({1, 8});
  const auto score = [&](std::int64_t at, std::int64_t to) {
    return (rotary_embedding(q, {.offset = at}) *
            rotary_embedding(k, {.offset = to}))
        .sum()
        .item<float>();
  };
  EXPECT_NEAR(score(7, 3), score(104, 100), 1e-4);
  EXPECT_GT(std::abs(score(7, 3) - score(7, 5)), 1e-3);
}

TEST(RotaryEmbedding, ContinuesAtItsOffset) {
  manual_seed(2);
  const Tensor x = randn({2, 9, 6});
  const Tensor all = rotary_embedding(x);
  const Tensor later = rotary_embedding(x.narrow(1, 4, 5), {.offset = 4});
  EXPECT_EQ(later.to_vector<float>(),
            all.narrow(1, 4, 5).contiguous().to_vector<float>());
}

TEST(RotaryEmbedding, FollowsEachOptionAlone) {
  manual_seed(2);
  const Tensor x = randn({3, 4});
  const auto first = rotary_embedding(x).to_vector<float>();
  for (const RotaryOptions& options :
       {RotaryOptions{.base = 9}, RotaryOptions{.offset = 1},
        RotaryOptions{.positions = {0, 2, 1}},
        RotaryOptions{.interleaved = true}}) {
    EXPECT_NE(rotary_embedding(x, options).to_vector<float>(), first);
    EXPECT_EQ(rotary_embedding(x).to_vector<float>(), first);
  }
  EXPECT_EQ(rotary_embedding(x, {.positions = {0, 1, 2}}).to_vector<float>(),
            first);
}

void expect_frequencies(const RotaryOptions& options, std::int64_t positions,
                        const std::vector<double>& wanted) {
  const auto found = rotary_frequencies(16, options, positions);
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i], 1e-6 * wanted[i]) << i;
  }
}

// Expected are the float32 numbers of transformers 5.24, whose configuration has
// the same names.
TEST(RotaryEmbedding, ScalesItsFrequencies) {
  using Type = RotaryScaling::Type;
  expect_frequencies(
      {.base = 500000, .scaling = {.rope_type = Type::kLlama3, .factor = 8}}, 0,
      {1, 0.193922758102417, 0.03760603070259094, 0.00729266507551074,
       0.0005248460220173001, 3.428102354519069e-05, 6.647869668086059e-06,
       1.289173155782919e-06});
  expect_frequencies(
      {.scaling = {.rope_type = Type::kLinear, .factor = 4}}, 0,
      {0.25, 0.07905694097280502, 0.025, 0.007905694656074047, 0.0025,
       0.0007905694656074047, 0.00025, 7.905694656074047e-05});
  const RotaryOptions dynamic{
      .scaling = {.rope_type = Type::kDynamic,
                  .factor = 2,
                  .original_max_position_embeddings = 64}};
  expect_frequencies(
      dynamic, 100,
      {1, 0.28394514322280884, 0.08062484115362167, 0.0228930301964283,
       0.0065003652125597, 0.0018457469996064901, 0.0005240908940322697,
       0.00014881306560710073});
  EXPECT_EQ(rotary_frequencies(16, dynamic, 64), rotary_frequencies(16, {}));
  EXPECT_EQ(rotary_frequencies(2, dynamic, 900), std::vector<double>({1}));
}

TEST(RotaryEmbedding, TurnsByScaledFrequencies) {
  using Type = RotaryScaling::Type;
  const Tensor x = randn({5, 8});
  const auto turned = [&](const RotaryOptions& options) {
    return rotary_embedding(x, options).to_vector<float>();
  };
  EXPECT_EQ(turned({.positions = {0, 4, 8, 12, 16},
                    .scaling = {.rope_type = Type::kLinear, .factor = 4}}),
            turned({}));
  // Only the base depends on the last position, not on the rows.
  const RotaryScaling dynamic{.rope_type = Type::kDynamic,
                              .factor = 2,
                              .original_max_position_embeddings = 6};
  EXPECT_EQ(turned({.offset = 1, .scaling = dynamic}), turned({.offset = 1}));
  EXPECT_NE(turned({.offset = 2, .scaling = dynamic}), turned({.offset = 2}));
  for (const RotaryScaling& wrong :
       {RotaryScaling{.rope_type = Type::kLinear, .factor = 0.5},
        RotaryScaling{.rope_type = Type::kLlama3, .low_freq_factor = 4},
        RotaryScaling{.rope_type = Type::kDynamic,
        .original_max_position_embeddings = 0}}) {
    EXPECT_ERROR(InvalidArgument, "a scaling by", turned({.scaling = wrong}));
  }
}

// Enough elements for several threads.
TEST(RotaryEmbedding, HasTheSameBitsForAnyStridesAndInACheckpoint) {
  manual_seed(2);
  const Tensor x = randn({4, 300, 8, 32}).set_requires_grad(true);
  const auto run = [](const Tensor& in) {
    return rotary_embedding(in.transpose(1, 2));
  };
  const Tensor plain = rotary_embedding(x.transpose(1, 2).contiguous());
  const Tensor replayed = checkpoint(run, x);
  EXPECT_EQ(replayed.to_vector<float>(), plain.to_vector<float>());
  const Tensor seed = randn(plain.shape());
  EXPECT_EQ(autograd::grad({replayed}, {x}, {seed})[0].to_vector<float>(),
            autograd::grad({plain}, {x}, {seed})[0].to_vector<float>());
}

TEST(RotaryEmbedding, TakesHalvesAndNothing) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const Tensor x = to(randn({3, 4}), dtype).set_requires_grad(true);
    const Tensor y = rotary_embedding(x);
    const Tensor wide =
        to(rotary_embedding(to(x.detach(), DType::kF32)), dtype);
    EXPECT_EQ(values(to(y, DType::kF64)), values(to(wide, DType::kF64)));
    y.sum().backward();
    EXPECT_EQ(x.grad().dtype(), dtype);
  }
  for (const autograd::Dims& shape :
       {autograd::Dims{0, 4}, autograd::Dims{2, 0, 4}, autograd::Dims{3, 0}}) {
    const Tensor x = zeros(shape, {.requires_grad = true});
    const Tensor y = rotary_embedding(x);
    EXPECT_EQ(y.shape(), x.shape());
    y.sum().backward();
    EXPECT_EQ(x.grad().shape(), x.shape());
  }
}

TEST(RotaryEmbedding, RefusesWhatDoesNotFit) {
  EXPECT_ERROR(InvalidArgument, "even width", rotary_embedding(ones({2, 3})));
  EXPECT_ERROR(InvalidArgument, "even width", rotary_embedding(ones({4})));
  EXPECT_ERROR(InvalidArgument, "even width",
               rotary_embedding(zeros({2, 4}, {.dtype = DType::kI64})));
  EXPECT_ERROR(InvalidArgument, "1 positions for 2 rows",
               rotary_embedding(ones({2, 4}), {.positions = {3}}));
  EXPECT_ERROR(InvalidArgument, "is not positive",
               rotary_embedding(ones({2, 4}), {.base = 0}));
}

}  // namespace
}  // namespace hvd
