// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;

Reduction reduction_of(const Statement& s) {
  const std::string name = s.text("reduction");
  if (name == "none") return Reduction::kNone;
  return name == "sum" ? Reduction::kSum : Reduction::kMean;
}

void add_losses(Operations& all) {
  all["nll_loss"] = [](const Statement& s) {
    return Results{nll_loss(s[0], s[1],
                            {.weight = s[2],
                             .ignore_index = s.integer("ignore_index"),
                             .reduction = reduction_of(s)})};
  };
  all["cross_entropy"] = [](const Statement& s) {
    return Results{
        cross_entropy(s[0], s[1],
                      {.weight = s[2],
                       .ignore_index = s.integer("ignore_index"),
                       .reduction = reduction_of(s),
                       .label_smoothing = s.number("label_smoothing")})};
  };
  all["mse_loss"] = [](const Statement& s) {
    return Results{mse_loss(s[0], s[1], reduction_of(s))};
  };
}

void add_norms(Operations& all) {
  all["batch_norm"] = [](const Statement& s) {
    return Results{batch_norm(s[0], s[1], s[2], s[3], s[4],
                              {.training = s.flag("training"),
                               .momentum = s.number("momentum"),
                               .eps = s.number("eps")})};
  };
  all["layer_norm"] = [](const Statement& s) {
    return Results{layer_norm(s[0], s.dims("normalized_shape"), s[1], s[2],
                              s.number("eps"))};
  };
}

}  // namespace

void add_network_operations(Operations& all) {
  add_losses(all);
  add_norms(all);
  all["scaled_dot_product_attention"] = [](const Statement& s) {
    AttentionOptions options{.mask = s[3],
                             .is_causal = s.flag("is_causal"),
                             .dropout_p = s.number("dropout_p")};
    if (s.has("scale")) options.scale = s.number("scale");
    options.enable_gqa = s.has("enable_gqa") && s.flag("enable_gqa");
    return Results{scaled_dot_product_attention(s[0], s[1], s[2], options)};
  };
  all["rotary_embedding"] = [](const Statement& s) {
    return Results{rotary_embedding(
        s[0], {.base = s.number("base"),
               .offset = static_cast<std::int64_t>(s.number("offset")),
               .interleaved = s.flag("interleaved")})};
  };
  all["lstm"] = [](const Statement& s) {
    const LstmResult result =
        lstm(s[0], {.h = s[1], .c = s[2]},
             {.w_ih = s[3], .w_hh = s[4], .b_ih = s[5], .b_hh = s[6]});
    return Results{result.output, result.h, result.c};
  };
}

}  // namespace hvd::differential
