// SPDX-License-Identifier: Apache-2.0
#include "compression.h"

#include <stdexcept>

namespace {

double number_of(const std::string& text, const std::string& whole) {
  try {
    std::size_t end = 0;
    const double number = std::stod(text, &end);
    if (end == text.size()) return number;
  } catch (const std::logic_error&) {
    // An error is reported below.
  }
  throw std::invalid_argument("--compression " + whole + ": '" + text +
                              "' is no number");
}

}  // namespace

Compression make_compression(const std::string& text, std::int64_t steps,
                             double momentum) {
  using namespace hvd::compression;
  const auto sign = text.find('=');
  const std::string name = text.substr(0, sign);
  const bool has_number = sign != std::string::npos;
  const auto number = [&](double otherwise) {
    return has_number ? number_of(text.substr(sign + 1), text) : otherwise;
  };
  if (name == "powersgd") {
    return {power_sgd(static_cast<std::int64_t>(number(4)))};
  }
  if (name == "topk") {
    return {top_k(TopKOptions{.share = number(0.01),
                              .warmup_steps = steps * 3 / 4,
                              .momentum = momentum,
                              .whole_below = 1024}),
            true};
  }
  if (!has_number) {
    if (name == "none") return {};
    if (name == "fp16") return {fp16()};
    if (name == "bf16") return {bf16()};
    if (name == "int8") return {int8_blocks()};
    if (name == "signs") {
      return {signs({.warmup_steps = steps, .momentum = momentum}), true};
    }
  }
  throw std::invalid_argument(
      "--compression " + text +
      ": it is none, fp16, bf16, int8, powersgd[=RANK], signs or topk[=SHARE]");
}
