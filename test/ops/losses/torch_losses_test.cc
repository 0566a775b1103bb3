// SPDX-License-Identifier: Apache-2.0
// Losses compute the values and gradients of PyTorch.
// test/fixtures/make_loss_fixtures.py makes the expected numbers.
#include <limits>

#include "horovodpp/ops.h"
#include "horovodpp/ops/losses/ctc_loss.h"
#include "horovodpp/ops/losses/elementwise_losses.h"
#include "horovodpp/ops/losses/margin_losses.h"
#include "test/ops/torch_cases.h"

namespace hvd {
namespace {

using autograd::Dims;
using ReducedLoss = std::function<Tensor(X, Reduction)>;

const std::vector<Dims> kLossPair = {{4, 5}, {4, 5}};
const std::vector<Dims> kLossTriple = {{4, 5}, {4, 5}, {4, 5}};

// 1 and -1 in turn, in the dtype of `like`.
Tensor signs(const Dims& shape, const Tensor& like) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.product(); ++i) {
    values.push_back(i % 2 == 0 ? 1.0 : -1.0);
  }
  return from_vector(values, shape).to(like.dtype());
}

Tensor fourths(const Tensor& like) {
  return arange(1, 6, 1, {.dtype = like.dtype()}) * 0.25;
}

Tensor whole(const std::vector<std::int64_t>& values, const Dims& shape) {
  return from_vector(values, shape);
}

void add_reductions(TorchCases& all, const std::string& name,
                    const std::vector<Dims>& shapes, const ReducedLoss& loss) {
  const std::map<std::string, Reduction> reductions = {
      {"_none", Reduction::kNone},
      {"_mean", Reduction::kMean},
      {"_sum", Reduction::kSum}};
  for (const auto& [suffix, reduction] : reductions) {
    all[name + suffix] = {shapes,
                          [loss, r = reduction](X x) { return loss(x, r); }};
  }
}

TorchCases reduced_cases() {
  TorchCases all;
  add_reductions(all, "l1", kLossPair,
                 [](X x, Reduction r) { return l1_loss(x[0], x[1], r); });
  add_reductions(all, "smooth_l1", kLossPair, [](X x, Reduction r) {
    return smooth_l1_loss(x[0], x[1], {.beta = 0.7, .reduction = r});
  });
  add_reductions(all, "huber", kLossPair, [](X x, Reduction r) {
    return huber_loss(x[0], x[1], {.delta = 0.7, .reduction = r});
  });
  add_reductions(all, "bce", kLossPair, [](X x, Reduction r) {
    return binary_cross_entropy(sigmoid(4.0 * x[0]), sigmoid(x[1]),
                                {.reduction = r});
  });
  add_reductions(all, "bce_logits", kLossPair, [](X x, Reduction r) {
    return binary_cross_entropy_with_logits(4.0 * x[0], sigmoid(x[1]),
                                            {.reduction = r});
  });
  add_reductions(all, "kl_div", kLossPair, [](X x, Reduction r) {
    return kl_div(log_softmax(x[0], 1), softmax(x[1], 1), {.reduction = r});
  });
  add_reductions(all, "poisson", kLossPair, [](X x, Reduction r) {
    return poisson_nll_loss(x[0], exp(x[1]), {.reduction = r});
  });
  add_reductions(all, "soft_margin", {{4, 5}}, [](X x, Reduction r) {
    return soft_margin_loss(2.0 * x[0], signs({4, 5}, x[0]), r);
  });
  add_reductions(all, "gaussian", kLossTriple, [](X x, Reduction r) {
    return gaussian_nll_loss(x[0], x[1], x[2] * x[2], {.reduction = r});
  });
  add_reductions(all, "multilabel_soft_margin", kLossPair,
                 [](X x, Reduction r) {
                   return multilabel_soft_margin_loss(x[0], sigmoid(x[1]),
                                                      {.reduction = r});
                 });
  return all;
}

TorchCases option_cases() {
  return {
      {"bce_weighted",
       {kLossPair,
        [](X x) {
          return binary_cross_entropy(sigmoid(x[0]), sigmoid(x[1]),
                                      {.weight = fourths(x[0])});
        }}},
      {"bce_logits_weighted",
       {kLossPair,
        [](X x) {
          const Tensor weight = fourths(x[0]);
          return binary_cross_entropy_with_logits(
              x[0], sigmoid(x[1]),
              {.weight = weight, .pos_weight = 1.0 / weight});
        }}},
      {"kl_div_logs",
       {kLossPair,
        [](X x) {
          return kl_div(log_softmax(x[0], 1), log_softmax(x[1], 1),
                        {.log_target = true, .batch_mean = true});
        }}},
      {"poisson_full",
       {kLossPair,
        [](X x) {
          return poisson_nll_loss(x[0], 3.0 * exp(x[1]), {.full = true});
        }}},
      {"poisson_rates",
       {kLossPair,
        [](X x) {
          return poisson_nll_loss(exp(x[0]), exp(x[1]), {.log_input = false});
        }}},
      {"multilabel_soft_margin_weighted",
       {kLossPair,
        [](X x) {
          return multilabel_soft_margin_loss(x[0], sigmoid(x[1]),
                                             {.weight = fourths(x[0])});
        }}},
      {"smooth_l1_sharp",
       {kLossPair,
        [](X x) { return smooth_l1_loss(x[0], x[1], {.beta = 0.0}); }}},
      {"gaussian_full", {{{4, 5}, {4, 5}, {4, 1}}, [](X x) {
                           return gaussian_nll_loss(x[0], x[1], x[2] * x[2],
                                                    {.full = true, .eps = 0.2});
                         }}}};
}

TorchCases distance_cases() {
  const auto distance = [](const PairwiseDistanceOptions& options) {
    return [options](X x) { return pairwise_distance(x[0], x[1], options); };
  };
  return {
      {"cosine_similarity",
       {kLossPair, [](X x) { return cosine_similarity(x[0], x[1]); }}},
      {"pairwise_distance", {kLossPair, distance({})}},
      {"pairwise_distance_1",
       {kLossPair, distance({.p = 1.0, .keepdim = true})}},
      {"pairwise_distance_3", {kLossPair, distance({.p = 3.0})}},
      {"pairwise_distance_inf",
       {kLossPair, distance({.p = std::numeric_limits<double>::infinity()})}},
      {"margin_ranking",
       {kLossPair,
        [](X x) {
          return margin_ranking_loss(x[0], x[1], signs({4, 5}, x[0]),
                                     {.margin = 0.2});
        }}},
      {"cosine_embedding",
       {kLossPair,
        [](X x) {
          return cosine_embedding_loss(x[0], x[1], signs({4}, x[0]),
                                       {.margin = -0.2});
        }}},
      {"triplet",
       {kLossTriple,
        [](X x) { return triplet_margin_loss(x[0], x[1], x[2]); }}},
      {"triplet_swap",
       {kLossTriple,
        [](X x) {
          return triplet_margin_loss(x[0], x[1], x[2],
                                     {.margin = 2.0, .p = 3.0, .swap = true});
        }}},
      {"hinge_embedding", {{{4, 5}}, [](X x) {
                             return hinge_embedding_loss(
                                 x[0], signs({4, 5}, x[0]), {.margin = 0.3});
                           }}}};
}

TorchCases class_cases() {
  const std::vector<Dims> rows = {{4, 5}};
  const Tensor labels = whole({3, 0, 4, 1}, {4});
  const Tensor sets =
      whole({3, 0, -1, 1, 1, -1, 0, 1, 2, 3, 0, 1, 2, 3, 4, 2, -1, -1, -1, -1},
            {4, 5});
  return {
      {"multi_margin",
       {rows, [=](X x) { return multi_margin_loss(x[0], labels); }}},
      {"multi_margin_squared",
       {rows,
        [=](X x) {
          return multi_margin_loss(
              x[0], labels, {.p = 2, .margin = 0.5, .weight = fourths(x[0])});
        }}},
      {"multi_margin_single",
       {{{5}}, [](X x) { return multi_margin_loss(x[0], whole({2}, {})); }}},
      {"multilabel_margin",
       {rows, [=](X x) { return multilabel_margin_loss(x[0], sets); }}},
      {"multilabel_margin_none", {rows, [=](X x) {
                                    return multilabel_margin_loss(
                                        x[0], sets, Reduction::kNone);
                                  }}}};
}

TorchCases ctc_cases() {
  const std::vector<Dims> shape = {{7, 4, 5}};
  const std::vector<std::int64_t> steps = {7, 5, 4, 6};
  const auto ctc = [=](const CtcOptions& options) {
    return [=](X x) {
      // With the last class as blank, no label is it.
      const std::int64_t four = options.blank == 4 ? 3 : 4;
      return ctc_loss(
          log_softmax(3.0 * x[0], -1),
          whole({1, 2, 2, 3, 1, 0, four, four, four, 1, 1, 1}, {4, 3}), steps,
          {3, 2, 0, 3}, options);
    };
  };
  return {{"ctc", {shape, ctc({})}},
          {"ctc_sum", {shape, ctc({.reduction = Reduction::kSum})}},
          {"ctc_none", {shape, ctc({.reduction = Reduction::kNone})}},
          {"ctc_last_blank", {shape, ctc({.blank = 4})}},
          {"ctc_impossible",
           {shape,
            [=](X x) {
              return ctc_loss(log_softmax(3.0 * x[0], -1),
                              whole({1, 2, 2, 3, 1, 4, 4, 4, 1, 1, 1}, {11}),
                              steps, {3, 2, 3, 3}, {.zero_infinity = true});
            }}},
          {"ctc_single", {{{6, 5}}, [](X x) {
                            return ctc_loss(log_softmax(x[0], -1),
                                            whole({2, 2, 3}, {3}), {6}, {3});
                          }}}};
}

TEST(PyTorchsLosses, HaveTheSameValuesAndGradients) {
  TorchCases all;
  for (TorchCases family : {reduced_cases(), option_cases(), distance_cases(),
                            class_cases(), ctc_cases()}) {
    all.merge(family);
  }
  hold_all_to_pytorch(read_fixture("losses.safetensors"), all);
}

}  // namespace
}  // namespace hvd
