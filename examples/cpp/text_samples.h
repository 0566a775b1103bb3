// SPDX-License-Identifier: Apache-2.0
// What a language model writes: bytes drawn one after the other, each with the
// probability that the model gives it behind those before.
#pragma once

#include <cstdint>
#include <string>

#include <horovodpp/nn/nn.h>

struct SampleOptions {
  std::int64_t length = 200;  // Bytes to draw.
  std::int64_t context =
      128;                    // Bytes before, at most, that the model is given.
  double temperature = 0.8;   // What logits are divided by; above 0.
  std::uint64_t seed = 0;     // The same text for the same model.
  std::string prompt = "\n";  // Not empty.
};

// The bytes behind the prompt; those that a terminal would not show as "?". No
// random numbers but those of the seed are drawn. `model` turns int64 [1, t]
// into [1, t, 256].
std::string sample_text(hvd::nn::Module& model, const SampleOptions& options);
