// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/decoder/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "horovodpp/nn/layers/linear.h"
#include "test/support/expect_error.h"

namespace hvd::nn {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> tokens_of(const Tensor& logits,
                                    const SamplingOptions& options) {
  std::vector<std::int64_t> tokens;
  for (const Candidate& c : candidates(logits, options)) {
    tokens.push_back(c.token);
  }
  return tokens;
}

// Probabilities 0.1, 0.4, 0.2, 0.3.
Tensor some_logits() {
  return log(from_vector<float>({0.1f, 0.4f, 0.2f, 0.3f}, {4})) + 5.0;
}

TEST(Candidates, AreTheLikeliestTokens) {
  const Tensor logits = some_logits();
  EXPECT_THAT(tokens_of(logits, {}), ElementsAre(1, 3, 2, 0));
  EXPECT_THAT(tokens_of(logits, {.temperature = 0}), ElementsAre(1));
  EXPECT_THAT(tokens_of(logits, {.top_k = 2}), ElementsAre(1, 3));
  EXPECT_THAT(tokens_of(logits, {.top_k = 9}), ElementsAre(1, 3, 2, 0));
  EXPECT_THAT(tokens_of(logits, {.top_p = 0.3}), ElementsAre(1));
  EXPECT_THAT(tokens_of(logits, {.top_p = 0.65}), ElementsAre(1, 3));
  EXPECT_THAT(tokens_of(logits, {.top_p = 0.75}), ElementsAre(1, 3, 2));
  // Of the two likeliest, the first has 4/7.
  EXPECT_THAT(tokens_of(logits, {.top_k = 2, .top_p = 0.5}), ElementsAre(1));
  const auto kept = candidates(logits, {.top_k = 2});
  EXPECT_NEAR(kept[0].probability, 4.0 / 7, 1e-6);
  EXPECT_NEAR(kept[1].probability, 3.0 / 7, 1e-6);
  const auto cold = candidates(logits, {.temperature = 0.5});
  EXPECT_NEAR(cold[0].probability, 0.16 / 0.30, 1e-6);
}

// The reference sorts all probabilities, as transformers' logits warpers do:
// it drops the least likely tokens that together have at most 1 - top_p.
TEST(Candidates, AreThoseOfTheReference) {
  manual_seed(8);
  for (int i = 0; i < 50; ++i) {
    const Tensor logits = randn({40}, {.dtype = DType::kF64}) * 2.0;
    const double top_p = 0.05 + 0.019 * i;
    const auto p = softmax(logits, 0).to_vector<double>();
    std::multimap<double, std::int64_t> rising;
    for (std::size_t t = 0; t < p.size(); ++t) {
      rising.emplace(p[t], static_cast<std::int64_t>(t));
    }
    std::set<std::int64_t> wanted;
    double below = 0;
    for (const auto& [probability, token] : rising) {
      below += probability;
      if (below > 1 - top_p) wanted.insert(token);
    }
    const auto found = tokens_of(logits, {.top_p = top_p});
    EXPECT_EQ(std::set<std::int64_t>(found.begin(), found.end()), wanted);
    const auto best = topk(logits, 1 + i % 9).indices.to_vector<std::int64_t>();
    EXPECT_EQ(tokens_of(logits, {.top_k = 1 + i % 9}), best);
  }
}

TEST(Candidates, OfEqualLogitsBeginWithTheLowerToken) {
  EXPECT_THAT(tokens_of(ones({3}), {.top_k = 2}), ElementsAre(0, 1));
  const float inf = INFINITY;
  EXPECT_THAT(
      tokens_of(from_vector<float>({-inf, 1, inf}, {3}), {.top_p = 0.99}),
      ElementsAre(2));
}

TEST(Candidates, RefuseInvalidOptionsAndLogits) {
  const Tensor logits = some_logits();
  EXPECT_ERROR(InvalidArgument, "temperature of -1",
               candidates(logits, {.temperature = -1}));
  EXPECT_ERROR(InvalidArgument, "top_k of -1",
               candidates(logits, {.top_k = -1}));
  EXPECT_ERROR(InvalidArgument, "top_p of 0", candidates(logits, {.top_p = 0}));
  EXPECT_ERROR(InvalidArgument, "are not floating point [vocabulary]",
               candidates(logits.unsqueeze(0)));
  EXPECT_ERROR(InvalidArgument, "a logit is NaN", candidates(logits * NAN));
}

TEST(SampleToken, DrawsWithTheProbabilities) {
  autograd::Generator generator(3);
  std::map<std::int64_t, int> counts;
  for (int i = 0; i < 4000; ++i) {
    ++counts[sample_token(some_logits(), {.top_k = 3}, generator)];
  }
  EXPECT_EQ(counts.count(0), 0u);
  EXPECT_NEAR(counts[1] / 4000.0, 4.0 / 9, 0.03);
  EXPECT_NEAR(counts[2] / 4000.0, 2.0 / 9, 0.03);
  EXPECT_NEAR(counts[3] / 4000.0, 3.0 / 9, 0.03);
}

// Predicts token + 1, modulo 5.
Tensor counting(const Tensor& tokens) {
  const Tensor next = remainder(tokens + 1, 5);
  return where(eq(next.unsqueeze(-1), arange(0, 5)), ones({1}), zeros({1})) *
         100.0;
}

TEST(Generate, ContinuesThePromptUntilTheStop) {
  EXPECT_THAT(generate(counting, {2, 3}, {.tokens = 4}),
              ElementsAre(4, 0, 1, 2));
  EXPECT_THAT(generate(counting, {2, 3}, {.tokens = 4, .stop = 0}),
              ElementsAre(4, 0));
  EXPECT_THAT(generate(counting, {2}, {.tokens = 0}), ElementsAre());
}

TEST(Generate, GivesAModelEachTokenOnce) {
  std::vector<std::int64_t> seen;
  const auto next = [&](const Tensor& tokens) {
    for (const auto t : tokens.to_vector<std::int64_t>()) seen.push_back(t);
    EXPECT_FALSE(is_grad_enabled());
    return counting(tokens);
  };
  generate(next, {2, 3}, {.tokens = 3});
  EXPECT_THAT(seen, ElementsAre(2, 3, 4, 0));
}

TEST(Generate, RepeatsItselfBySeed) {
  const auto run = [](std::uint64_t seed) {
    const auto even = [](const Tensor&) { return zeros({1, 1, 50}); };
    return generate(even, {0}, {.tokens = 20, .seed = seed});
  };
  manual_seed(1);
  const auto first = run(7);
  randn({3});
  EXPECT_EQ(run(7), first);
  EXPECT_NE(run(8), first);
}

TEST(Generate, ShowsAModelAtMostItsContext) {
  struct Model : Module {
    Tensor forward(const Tensor& tokens) override {
      longest = std::max(longest, tokens.size(1));
      return counting(tokens);
    }
    std::int64_t longest = 0;
  } model;
  EXPECT_THAT(generate(without_cache(model, 3), {0, 1, 2, 3}, {.tokens = 3}),
              ElementsAre(4, 0, 1));
  EXPECT_EQ(model.longest, 3);
}

TEST(Generate, RefusesInvalidArguments) {
  EXPECT_ERROR(InvalidArgument, "a prompt has a token",
               generate(counting, {}, {}));
  EXPECT_ERROR(InvalidArgument, "-1 tokens",
               generate(counting, {1}, {.tokens = -1}));
  EXPECT_ERROR(InvalidArgument, "are not [1, tokens, vocabulary]",
               generate(
                   [](const Tensor&) {
                     return ones({2, 3});
                   },
                   {1}, {}));
  Linear model(2, 2);
  EXPECT_ERROR(InvalidArgument, "a context of 0", without_cache(model, 0));
}

}  // namespace
}  // namespace hvd::nn
