// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/attention/rotary_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"

namespace hvd {
namespace {

using Type = RotaryScaling::Type;

// The base for so many positions.
double raised_base(std::int64_t width, const RotaryOptions& options,
                   std::int64_t positions) {
  const RotaryScaling& s = options.scaling;
  const auto trained = static_cast<double>(s.original_max_position_embeddings);
  const double used = std::max(static_cast<double>(positions), trained);
  const auto n = static_cast<double>(width);
  if (width <= 2) return options.base;  // Its only frequency is 1.
  return options.base *
         std::pow(s.factor * used / trained - (s.factor - 1), n / (n - 2));
}

// Between kept and divided frequencies, by the turns within the trained length.
double llama3_frequency(double frequency, const RotaryScaling& s) {
  const double turns = static_cast<double>(s.original_max_position_embeddings) *
                       frequency / (2 * std::numbers::pi);
  const double kept = std::clamp(
      (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor),
      0.0, 1.0);
  return (1 - kept) * frequency / s.factor + kept * frequency;
}

void check_scaling(const RotaryOptions& options) {
  if (!(options.base > 0)) {
    throw InvalidArgument(absl::StrCat("rotary_embedding: the base ",
                                       options.base, " is not positive"));
  }
  const RotaryScaling& s = options.scaling;
  if (s.rope_type == Type::kDefault) return;
  if (!(s.factor >= 1) || s.original_max_position_embeddings < 1 ||
      !(s.low_freq_factor < s.high_freq_factor)) {
    throw InvalidArgument(absl::StrCat(
        "rotary_embedding: a scaling by ", s.factor, " of ",
        s.original_max_position_embeddings,
        " positions, with frequencies from ", s.low_freq_factor, " to ",
        s.high_freq_factor,
        "; wanted are a factor and a length of at least 1, and low_freq_factor "
        "below high_freq_factor"));
  }
}

}  // namespace

std::vector<double> rotary_frequencies(std::int64_t width,
                                       const RotaryOptions& options,
                                       std::int64_t positions) {
  check_scaling(options);
  const RotaryScaling& s = options.scaling;
  const double base = s.rope_type == Type::kDynamic
                          ? raised_base(width, options, positions)
                          : options.base;
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < width / 2; ++i) {
    double frequency = std::pow(
        base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
    if (s.rope_type == Type::kLinear) frequency /= s.factor;
    if (s.rope_type == Type::kLlama3)
      frequency = llama3_frequency(frequency, s);
    frequencies.push_back(frequency);
  }
  return frequencies;
}

}  // namespace hvd
