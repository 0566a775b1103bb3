// SPDX-License-Identifier: Apache-2.0
#include "text_samples.h"

#include <vector>

#include "models/language/llama.h"

namespace {

char shown(std::int64_t byte) {
  const bool shows = byte == '\n' || (byte >= 32 && byte < 127);
  return shows ? static_cast<char>(byte) : '?';
}

hvd::nn::NextLogits next_logits(hvd::nn::Module& model,
                                const SampleOptions& options) {
  if (auto* llama = dynamic_cast<models::Llama*>(&model)) {
    const auto prompt = static_cast<std::int64_t>(options.prompt.size());
    return llama->with_cache(prompt + options.length);
  }
  return hvd::nn::without_cache(model, options.context);
}

}  // namespace

std::string sample_text(hvd::nn::Module& model, const SampleOptions& options) {
  std::vector<std::int64_t> prompt;
  for (const char c : options.prompt) {
    prompt.push_back(static_cast<unsigned char>(c));
  }
  std::string text;
  for (const std::int64_t byte :
       hvd::nn::generate(next_logits(model, options), prompt,
                         {.tokens = options.length,
                         .sampling = options.sampling,
                         .seed = options.seed})) {
    text += shown(byte);
  }
  return text;
}
