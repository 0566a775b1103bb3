// SPDX-License-Identifier: Apache-2.0
// Losses, which the comparison with PyTorch's operator database runs.
#include "horovodpp/nn.h"
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;
using Loss = std::function<Tensor(const Statement&, Reduction)>;

Reduction reduction_named(const std::string& name) {
  if (name == "none") return Reduction::kNone;
  if (name == "sum") return Reduction::kSum;
  if (name == "mean") return Reduction::kMean;
  throw std::invalid_argument("no reduction is called " + name);
}

std::map<std::string, Loss> losses_of_elements() {
  return {
      {"l1_loss",
       [](const Statement& s, Reduction r) { return l1_loss(s[0], s[1], r); }},
      {"huber_loss",
       [](const Statement& s, Reduction r) {
         return huber_loss(s[0], s[1],
                           {.delta = s.number("delta"), .reduction = r});
       }},
      {"smooth_l1_loss",
       [](const Statement& s, Reduction r) {
         return smooth_l1_loss(s[0], s[1],
                               {.beta = s.number("beta"), .reduction = r});
       }},
      {"binary_cross_entropy",
       [](const Statement& s, Reduction r) {
         return binary_cross_entropy(s[0], s[1],
                                     {.weight = s[2], .reduction = r});
       }},
      {"binary_cross_entropy_with_logits",
       [](const Statement& s, Reduction r) {
         return binary_cross_entropy_with_logits(
             s[0], s[1], {.weight = s[2], .pos_weight = s[3], .reduction = r});
       }},
      {"kl_div",
       [](const Statement& s, Reduction r) {
         return kl_div(s[0], s[1],
                       {.log_target = s.flag("log_target"),
                        .batch_mean = s.flag("batch_mean"),
                        .reduction = r});
       }},
      {"poisson_nll_loss",
       [](const Statement& s, Reduction r) {
         return poisson_nll_loss(s[0], s[1],
                                 {.log_input = s.flag("log_input"),
                                  .full = s.flag("full"),
                                  .eps = s.number("eps"),
                                  .reduction = r});
       }},
      {"gaussian_nll_loss",
       [](const Statement& s, Reduction r) {
         return gaussian_nll_loss(
             s[0], s[1], s[2],
             {.full = s.flag("full"), .eps = s.number("eps"), .reduction = r});
       }},
      {"soft_margin_loss", [](const Statement& s, Reduction r) {
         return soft_margin_loss(s[0], s[1], r);
       }}};
}

std::map<std::string, Loss> losses_of_margins() {
  return {
      {"cosine_embedding_loss",
       [](const Statement& s, Reduction r) {
         return cosine_embedding_loss(
             s[0], s[1], s[2], {.margin = s.number("margin"), .reduction = r});
       }},
      {"margin_ranking_loss",
       [](const Statement& s, Reduction r) {
         return margin_ranking_loss(
             s[0], s[1], s[2], {.margin = s.number("margin"), .reduction = r});
       }},
      {"hinge_embedding_loss",
       [](const Statement& s, Reduction r) {
         return hinge_embedding_loss(
             s[0], s[1], {.margin = s.number("margin"), .reduction = r});
       }},
      {"triplet_margin_loss",
       [](const Statement& s, Reduction r) {
         return triplet_margin_loss(s[0], s[1], s[2],
                                    {.margin = s.number("margin"),
                                     .p = s.number("p"),
                                     .eps = s.number("eps"),
                                     .swap = s.flag("swap"),
                                     .reduction = r});
       }},
      {"multi_margin_loss",
       [](const Statement& s, Reduction r) {
         return multi_margin_loss(s[0], s[1],
                                  {.p = static_cast<int>(s.integer("p")),
                                   .margin = s.number("margin"),
                                   .weight = s[2],
                                   .reduction = r});
       }},
      {"multilabel_margin_loss",
       [](const Statement& s, Reduction r) {
         return multilabel_margin_loss(s[0], s[1], r);
       }},
      {"multilabel_soft_margin_loss",
       [](const Statement& s, Reduction r) {
         return multilabel_soft_margin_loss(s[0], s[1],
                                            {.weight = s[2], .reduction = r});
       }},
      {"ctc_loss", [](const Statement& s, Reduction r) {
         return ctc_loss(s[0], s[1], s.integers("input_lengths"),
                         s.integers("target_lengths"),
                         {.blank = s.integer("blank"),
                          .zero_infinity = s.flag("zero_infinity"),
                          .reduction = r});
       }}};
}

}  // namespace

void add_losses_of_the_database(Operations& all) {
  for (const auto& table : {losses_of_elements(), losses_of_margins()}) {
    for (const auto& [name, loss] : table) {
      all[name] = [loss = loss](const Statement& s) {
        return Results{loss(s, reduction_named(s.text("reduction")))};
      };
    }
  }
  all["cosine_similarity"] = [](const Statement& s) {
    return Results{cosine_similarity(
        s[0], s[1], {.dim = s.integer("dim"), .eps = s.number("eps")})};
  };
  all["pairwise_distance"] = [](const Statement& s) {
    return Results{pairwise_distance(s[0], s[1],
                                     {.p = s.number("p"),
                                      .eps = s.number("eps"),
                                      .keepdim = s.flag("keepdim")})};
  };
}

}  // namespace hvd::differential
