// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/decoder/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"

namespace hvd::nn {
namespace {

void check(const Tensor& logits, const SamplingOptions& options) {
  if (!(options.temperature >= 0) || options.top_k < 0 ||
      !(options.top_p > 0 && options.top_p <= 1)) {
    throw InvalidArgument(absl::StrCat(
        "sampling: a temperature of ", options.temperature, ", top_k of ",
        options.top_k, " and top_p of ", options.top_p,
        "; wanted are numbers from 0 on, and a top_p in (0, 1]"));
  }
  if (!logits.defined() || logits.dim() != 1 || logits.size(0) == 0 ||
      !is_floating_point(logits.dtype())) {
    throw InvalidArgument(absl::StrCat(
        "sampling: logits ", logits.defined() ? logits.describe() : "undefined",
        " are not floating point [vocabulary]"));
  }
}

// All tokens with their logits, likeliest first.
std::vector<Candidate> ordered(const Tensor& logits) {
  const std::vector<double> values =
      logits.detach().to(DType::kF64).to_vector<double>();
  std::vector<Candidate> all;
  for (const double value : values) {
    if (std::isnan(value)) {
      throw InvalidArgument("sampling: a logit is NaN; the model has diverged");
    }
    all.push_back({static_cast<std::int64_t>(all.size()), value});
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.probability > b.probability;
  });
  return all;
}

// Replaces logits by probabilities. The first is the largest.
void soften(std::vector<Candidate>& all, double temperature) {
  const double largest = all[0].probability;
  double sum = 0;
  for (Candidate& c : all) {
    // Equal infinities have no difference.
    const double below = c.probability == largest ? 0 : c.probability - largest;
    c.probability = std::exp(below / temperature);
    sum += c.probability;
  }
  for (Candidate& c : all) c.probability /= sum;
}

// Keeps the first candidates that together reach `top_p`.
void keep_nucleus(std::vector<Candidate>& all, double top_p) {
  double before = 0;
  std::size_t count = 0;
  while (count < all.size() && before < top_p) {
    before += all[count++].probability;
  }
  all.resize(count);
  for (Candidate& c : all) c.probability /= before;
}

}  // namespace

std::vector<Candidate> candidates(const Tensor& logits,
                                  const SamplingOptions& options) {
  check(logits, options);
  std::vector<Candidate> all = ordered(logits);
  if (options.temperature == 0) return {{all[0].token, 1.0}};
  if (options.top_k > 0) {
    const auto k = static_cast<std::size_t>(options.top_k);
    all.resize(std::min(k, all.size()));
  }
  soften(all, options.temperature);
  if (options.top_p < 1) keep_nucleus(all, options.top_p);
  return all;
}

std::int64_t sample_token(const Tensor& logits, const SamplingOptions& options,
                          autograd::Generator& generator) {
  const std::vector<Candidate> all = candidates(logits, options);
  double draw = 0;
  generator.uniform(std::span(&draw, 1));
  for (const Candidate& c : all) {
    draw -= c.probability;
    if (draw < 0) return c.token;
  }
  return all[0].token;  // The sum was rounded to less than the draw.
}

}  // namespace hvd::nn
