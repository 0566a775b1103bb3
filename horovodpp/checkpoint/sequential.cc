// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/sequential.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/error.h"
#include "horovodpp/checkpoint/checkpoint.h"

namespace hvd {
namespace {

// What regions share, so that each copies a pointer.
struct Chain {
  std::vector<ChainFunction> functions;
  CheckpointPlan plan;
  CheckpointOptions options;
};

Tensor run_parts(const std::shared_ptr<const Chain>& chain,
                 const std::vector<CheckpointPlan::Part>& parts,
                 const Tensor& input) {
  Tensor x = input;
  for (const CheckpointPlan::Part& part : parts) {
    if (part.is_region()) {
      x = checkpoint(
          [chain, &part](const Tensor& in) {
            return run_parts(chain, part.inside, in);
          },
          x, chain->options);
    } else {
      x = chain->functions[part.first](x);
    }
  }
  return x;
}

void check_functions(const std::vector<ChainFunction>& functions) {
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (functions[i]) continue;
    throw InvalidArgument(
        absl::StrCat("checkpoint_sequential: function ", i, " is empty"));
  }
}

CheckpointPlan in_segments(std::size_t functions, std::int64_t segments) {
  if (segments < 1 || static_cast<std::size_t>(segments) > functions) {
    throw InvalidArgument(absl::StrCat(
        "checkpoint_sequential: ", segments, " segments of ", functions,
        " functions; wanted are 1 to as many segments as functions"));
  }
  const std::size_t size = functions / static_cast<std::size_t>(segments);
  std::string text;
  std::size_t next = 0;
  const auto add = [&](std::size_t count) {
    for (; count > 0; --count) absl::StrAppend(&text, next++, " ");
  };
  for (std::int64_t s = 0; s + 1 < segments; ++s) {
    text += "(";
    add(size);
    text += ")";
  }
  add(functions - next);
  return CheckpointPlan::parse(text);
}

}  // namespace

Tensor checkpoint_sequential(const std::vector<ChainFunction>& functions,
                             std::int64_t segments, const Tensor& input,
                             const CheckpointOptions& options) {
  return checkpoint_sequential(
      functions, in_segments(functions.size(), segments), input, options);
}

Tensor checkpoint_sequential(const std::vector<ChainFunction>& functions,
                             const CheckpointPlan& plan, const Tensor& input,
                             const CheckpointOptions& options) {
  check_functions(functions);
  if (plan.stages() != functions.size()) {
    throw InvalidArgument(absl::StrCat("checkpoint_sequential: a plan of ",
                                       plan.stages(), " stages for ",
                                       functions.size(), " functions"));
  }
  const auto chain =
      std::make_shared<const Chain>(Chain{functions, plan, options});
  return run_parts(chain, chain->plan.parts(), input);
}

}  // namespace hvd
