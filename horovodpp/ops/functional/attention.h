// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention.
#pragma once

#include <optional>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {

struct AttentionOptions {
  // ~ [..., queries, keys]: bool, true where a query sees a key; or a number
  // added to each score.
  Tensor mask = {};
  // Query i sees keys 0 to i. Excludes a mask.
  bool is_causal = false;
  // Dropout of the weights, in training or not.
  double dropout_p = 0.0;
  // Factor of the scores; default: 1 / sqrt(width).
  std::optional<double> scale = std::nullopt;
};

// softmax(scale q k^T + mask) v:  q [..., queries, width], k [..., keys,
// width], v [..., keys, values] -> [..., queries, values]; other dimensions
// broadcast. Weights are computed for one block of queries at a time, and again
// in backward, so that no [queries, keys] matrix is kept. A query that sees no
// key gets 0. (F.scaled_dot_product_attention; backward: Dao et al.,
// "FlashAttention", 2022.)
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k,
                                    const Tensor& v,
                                    const AttentionOptions& options = {});

}  // namespace hvd
