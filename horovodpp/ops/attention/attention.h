// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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
  // Heads are dimension -3. q has a multiple of the heads of k and v; query
  // head h reads head h / (heads of q / heads of k), which is not copied.
  bool enable_gqa = false;
  // With is_causal: a query sees the last `window` of the keys that it would
  // see, its own included; 0: all. Blocks outside windows are skipped.
  std::int64_t window = 0;
  // With is_causal: query i sees keys 0 to i + query_offset. With a key-value
  // cache it is the number of earlier keys.
  std::int64_t query_offset = 0;
  // Bounds of sequences that share the rows of q, k and v: 0, the end of the
  // first, ... the number of rows. A query sees its own sequence. Excludes a
  // mask and query_offset.
  std::vector<std::int64_t> cumulative_lengths = {};
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
