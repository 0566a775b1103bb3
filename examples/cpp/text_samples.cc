// SPDX-License-Identifier: Apache-2.0
#include "text_samples.h"

#include <cstddef>
#include <vector>

#include "models/language/llama.h"

namespace {

hvd::nn::NextLogits next_logits(hvd::nn::Module& model, std::size_t prompt,
                                const SampleOptions& options) {
  if (auto* llama = dynamic_cast<models::Llama*>(&model)) {
    return llama->with_cache(static_cast<std::int64_t>(prompt) +
                             options.length);
  }
  return hvd::nn::without_cache(model, options.context);
}

}  // namespace

std::string sample_text(hvd::nn::Module& model, const TextCorpus& corpus,
                        const SampleOptions& options) {
  const std::vector<std::int64_t> prompt = corpus.encode(options.prompt);
  return corpus.decode(
      hvd::nn::generate(next_logits(model, prompt.size(), options), prompt,
                        {.tokens = options.length,
                         .sampling = options.sampling,
                         .seed = options.seed}));
}
