// SPDX-License-Identifier: Apache-2.0
// Generates text with a language model of bytes.
#pragma once

#include <cstdint>
#include <string>

#include <horovodpp/nn.h>

struct SampleOptions {
  std::int64_t length = 200;   // Bytes to draw.
  std::int64_t context = 128;  // The most earlier bytes that the model gets.
  hvd::nn::SamplingOptions sampling = {.temperature = 0.8};
  std::uint64_t seed = 0;     // Gives the same text for the same model.
  std::string prompt = "\n";  // Not empty.
};

// The bytes after the prompt; "?" replaces bytes that a terminal would not
// show. Uses only random numbers of the seed. `model` turns int64 [1, t] into
// [1, t, 256]. A Llama generates with its key-value cache, and so sees all
// earlier bytes.
std::string sample_text(hvd::nn::Module& model, const SampleOptions& options);
