// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/decoder/generate.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {
namespace {

Tensor as_tensor(const std::vector<std::int64_t>& tokens) {
  return from_vector(tokens, {1, static_cast<std::int64_t>(tokens.size())});
}

// [1, any, vocabulary] -> the last row
Tensor last_row(const Tensor& logits) {
  if (!logits.defined() || logits.dim() != 3 || logits.size(0) != 1 ||
      logits.size(1) == 0) {
    throw InvalidArgument(
        absl::StrCat("generate: the logits ",
                     logits.defined() ? logits.describe() : "undefined",
                     " are not [1, tokens, vocabulary]"));
  }
  return logits.select(0, 0).select(0, logits.size(1) - 1);
}

}  // namespace

std::vector<std::int64_t> generate(const NextLogits& next,
                                   const std::vector<std::int64_t>& prompt,
                                   const GenerateOptions& options) {
  if (prompt.empty() || options.tokens < 0) {
    throw InvalidArgument(
        absl::StrCat("generate: ", options.tokens, " tokens after a prompt of ",
                     prompt.size(),
                     "; a prompt has a token, and the number is not negative"));
  }
  const NoGrad no_grad;
  autograd::Generator generator(options.seed);
  std::vector<std::int64_t> fresh = prompt;
  std::vector<std::int64_t> tokens;
  while (static_cast<std::int64_t>(tokens.size()) < options.tokens) {
    const Tensor logits = last_row(next(as_tensor(fresh)));
    tokens.push_back(sample_token(logits, options.sampling, generator));
    if (tokens.back() == options.stop) break;
    fresh = {tokens.back()};
  }
  return tokens;
}

NextLogits without_cache(Module& model, std::int64_t context) {
  if (context <= 0) {
    throw InvalidArgument(absl::StrCat("generate: a context of ", context,
                                       " tokens; wanted is a positive number"));
  }
  auto seen = std::make_shared<std::vector<std::int64_t>>();
  return [&model, context, seen](const Tensor& tokens) {
    for (const std::int64_t token : tokens.to_vector<std::int64_t>()) {
      seen->push_back(token);
    }
    const auto count =
        std::min(static_cast<std::int64_t>(seen->size()), context);
    seen->erase(seen->begin(), seen->end() - count);
    return model(as_tensor(*seen));
  };
}

}  // namespace hvd::nn
