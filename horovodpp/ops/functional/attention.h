// SPDX-License-Identifier: Apache-2.0
// Attention.
#pragma once

#include <optional>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct AttentionOptions {
  // ~ [..., queries, keys]: true where a key counts; or a number added to its
  // score.
  Tensor mask = {};
  // Query i sees keys 0 to i. Not together with a mask.
  bool is_causal = false;
  double dropout_p = 0.0;  // Of the weights, training or not.
  // Of the scores; by default 1 / sqrt(width).
  std::optional<double> scale = std::nullopt;
};

// softmax(scale q k^T + mask) v:  q [..., queries, width], k [..., keys, width],
// v [..., keys, values] -> [..., queries, values]; other dimensions broadcast.
// The weights are made a block of queries at a time, and again in backward, so
// that no [queries, keys] of them is ever kept. A query that sees no key
// gets 0. (F.scaled_dot_product_attention; Dao et al., "FlashAttention", 2022,
// for the backward.)
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k,
                                    const Tensor& v,
                                    const AttentionOptions& options = {});

}  // namespace hvd
