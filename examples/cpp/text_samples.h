// SPDX-License-Identifier: Apache-2.0
// Generates text with a language model.
#pragma once

#include <cstdint>
#include <string>

#include <horovodpp/nn.h>

#include "text_corpus.h"

struct SampleOptions {
  std::int64_t length = 200;   // Bytes or tokens to draw.
  std::int64_t context = 128;  // The most earlier ones that the model gets.
  hvd::nn::SamplingOptions sampling = {.temperature = 0.8};
  std::uint64_t seed = 0;     // Gives the same text for the same model.
  std::string prompt = "\n";  // Not empty.
};

// The text after the prompt, decoded for a terminal. Uses only random numbers of
// the seed. `model` turns int64 [1, t] into [1, t, vocabulary]. A Llama
// generates with its key-value cache, and so sees all earlier tokens.
std::string sample_text(hvd::nn::Module& model, const TextCorpus& corpus,
                        const SampleOptions& options);
