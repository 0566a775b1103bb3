// SPDX-License-Identifier: Apache-2.0
// Generation of tokens, one after the other, each drawn with the probability
// that a model gives it after the earlier ones.
//
//   auto tokens = hvd::nn::generate(hvd::nn::without_cache(model, 128), prompt,
//                                   {.tokens = 200, .sampling = {.top_k = 40},
//                                    .seed = 1});
//
// A model with a key-value cache gives its own function, which takes each token
// once and keeps what it needs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/decoder/sampling.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace nn {

// Gets the tokens behind those of the last call, int64 [1, t]: first the
// prompt, then one at a time. Returns logits [1, any, vocabulary], whose last
// row is for the next token. Called under NoGrad.
using NextLogits = std::function<Tensor(const Tensor& tokens)>;

struct GenerateOptions {
  std::int64_t tokens = 100;  // The most tokens to generate.
  SamplingOptions sampling = {};
  std::uint64_t seed = 0;  // The same seed gives the same tokens.
  // Generation ends behind this token.
  std::optional<std::int64_t> stop = std::nullopt;
};

// The tokens behind the prompt. Uses only random numbers of the seed.
//   InvalidArgument  the prompt is empty, `tokens` is negative, or the logits
//                    have another shape; and as candidates()
std::vector<std::int64_t> generate(const NextLogits& next,
                                   const std::vector<std::int64_t>& prompt,
                                   const GenerateOptions& options = {});

// The logits of a model without a cache, int64 [1, t] -> [1, t, vocabulary],
// from at most the last `context` tokens. The function is for one text, whose
// tokens it keeps. The model lives as long.
//   InvalidArgument  the context is not positive
NextLogits without_cache(Module& model, std::int64_t context);

}  // namespace nn
}  // namespace hvd
