// SPDX-License-Identifier: Apache-2.0
#include "text_samples.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <horovodpp/autograd.h>

namespace {

// The first index at which the sum of probabilities exceeds `draw`.
std::size_t pick(const std::vector<float>& probabilities, float draw) {
  float sum = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    sum += probabilities[i];
    if (draw < sum) return i;
  }
  return probabilities.size() - 1;
}

char shown(std::int64_t byte) {
  const bool shows = byte == '\n' || (byte >= 32 && byte < 127);
  return shows ? static_cast<char>(byte) : '?';
}

}  // namespace

std::string sample_text(hvd::nn::Module& model, const SampleOptions& options) {
  const hvd::NoGrad no_grad;
  hvd::autograd::Generator generator(options.seed);
  std::vector<std::int64_t> bytes;
  for (const char c : options.prompt) {
    bytes.push_back(static_cast<unsigned char>(c));
  }
  std::string text;
  for (std::int64_t i = 0; i < options.length; ++i) {
    const auto count =
        std::min(static_cast<std::int64_t>(bytes.size()), options.context);
    const hvd::Tensor window = hvd::from_vector(
        std::vector<std::int64_t>(bytes.end() - count, bytes.end()),
        {1, count});
    const hvd::Tensor logits = model(window).select(0, 0).select(0, count - 1);
    const hvd::Tensor probabilities =
        hvd::softmax(logits * (1.0 / options.temperature), 0);
    float draw = 0;
    generator.uniform(std::span(&draw, 1));
    bytes.push_back(static_cast<std::int64_t>(
        pick(probabilities.to_vector<float>(), draw)));
    text += shown(bytes.back());
  }
  return text;
}
