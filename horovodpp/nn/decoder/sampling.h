// SPDX-License-Identifier: Apache-2.0
// The tokens that may follow, and their probabilities.
//
//   hvd::nn::SamplingOptions options{.temperature = 0.8, .top_p = 0.9};
//   for (auto& [token, probability] : hvd::nn::candidates(logits, options)) ...
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace nn {

// Applied in this order.
struct SamplingOptions {
  double temperature = 1.0;  // Divides logits. 0: greedy, the likeliest token.
  std::int64_t top_k = 0;    // Only the k likeliest tokens; 0: all.
  // Only the likeliest tokens that together reach this probability.
  double top_p = 1.0;
};

struct Candidate {
  std::int64_t token;
  double probability;
};

// The tokens that may be drawn, likeliest first, of equal ones the lower token;
// their probabilities add up to 1. `logits` is floating point [vocabulary].
//   InvalidArgument  other shapes; a logit that is NaN; the temperature or top_k
//                    is negative; top_p is not in (0, 1]
std::vector<Candidate> candidates(const Tensor& logits,
                                  const SamplingOptions& options = {});

// One of the candidates. Takes one number from the generator, also if greedy.
std::int64_t sample_token(const Tensor& logits, const SamplingOptions& options,
                          autograd::Generator& generator);

}  // namespace nn
}  // namespace hvd
