// SPDX-License-Identifier: Apache-2.0
// The angles of rotary embeddings (rotary.h has the embedding).
//
//   const std::vector<double> steps = hvd::rotary_frequencies(128, options);
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// How a decoder reaches further than the positions of its training, with the
// names of "rope_scaling" in Hugging Face's config.json.
struct RotaryScaling {
  enum class Type {
    kDefault,  // None.
    kLinear,   // Divides all positions by `factor`.
    // Raises the base with the number of positions, once these are more than
    // original_max_position_embeddings ("NTK-aware").
    kDynamic,
    // Divides by `factor` the frequencies of the slow pairs, which turn less than
    // low_freq_factor times in original_max_position_embeddings, and keeps those
    // of the fast ones, which turn more than high_freq_factor times.
    kLlama3,
  };
  Type rope_type = Type::kDefault;
  double factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  std::int64_t original_max_position_embeddings = 8192;
  friend bool operator==(const RotaryScaling&, const RotaryScaling&) = default;
};

struct RotaryOptions {
  double base = 10000.0;
  std::int64_t offset = 0;  // The position of the first row.
  // The position of each row, instead of offset, offset + 1, ...: those of
  // packed sequences start again at 0.
  std::vector<std::int64_t> positions = {};
  // Element 2i is paired with 2i + 1. Otherwise i is paired with width / 2 + i,
  // as in the Llama checkpoints of Hugging Face.
  bool interleaved = false;
  RotaryScaling scaling = {};
};

// The angle by which each of width / 2 pairs turns from a position to the next.
// `positions`, for kDynamic: one more than the last position.
//   InvalidArgument  the options are invalid
std::vector<double> rotary_frequencies(std::int64_t width,
                                       const RotaryOptions& options,
                                       std::int64_t positions = 0);

}  // namespace hvd
