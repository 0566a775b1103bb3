// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/sequential.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/checkpoint/checkpoint.h"

namespace hvd {
namespace {

using Part = CheckpointPlan::Part;

// Shared by regions, so that each copies only a pointer.
struct Chain {
  std::vector<ChainStage> stages;
  CheckpointPlan plan;
  CheckpointOptions options;

  const ChainFunction& function_of(const Part& part) const {
    const ChainStage& stage = stages[part.first];
    return part.option == 0 ? stage.function : stage.leaner[part.option - 1];
  }
};

Tensor run_parts(const std::shared_ptr<const Chain>& chain,
                 const std::vector<Part>& parts, const Tensor& input) {
  Tensor x = input;
  for (const Part& part : parts) {
    if (part.is_region()) {
      x = checkpoint(
          [chain, &part](const Tensor& in) {
            return run_parts(chain, part.inside, in);
          },
          x, chain->options);
    } else {
      x = chain->function_of(part)(x);
    }
  }
  return x;
}

void check_options(const std::vector<Part>& parts,
                   const std::vector<ChainStage>& stages) {
  for (const Part& part : parts) {
    check_options(part.inside, stages);
    if (part.option <= stages[part.first].leaner.size()) continue;
    throw InvalidArgument(absl::StrCat(
        "checkpoint_sequential: the plan takes option ", part.option,
        " of stage ", part.first, ", which has options 0 to ",
        stages[part.first].leaner.size()));
  }
}

}  // namespace

Tensor checkpoint_sequential(const std::vector<ChainFunction>& functions,
                             std::int64_t segments, const Tensor& input,
                             const CheckpointOptions& options) {
  return checkpoint_sequential(
      functions, CheckpointPlan::in_segments(functions.size(), segments), input,
      options);
}

Tensor checkpoint_sequential(const std::vector<ChainFunction>& functions,
                             const CheckpointPlan& plan, const Tensor& input,
                             const CheckpointOptions& options) {
  return checkpoint_sequential(autograd::as_stages(functions), plan, input,
                               options);
}

Tensor checkpoint_sequential(const std::vector<ChainStage>& stages,
                             const CheckpointPlan& plan, const Tensor& input,
                             const CheckpointOptions& options) {
  autograd::check_stages(stages, "checkpoint_sequential");
  if (plan.stages() != stages.size()) {
    throw InvalidArgument(absl::StrCat("checkpoint_sequential: a plan of ",
                                       plan.stages(), " stages for ",
                                       stages.size(), " functions"));
  }
  check_options(plan.parts(), stages);
  const auto chain =
      std::make_shared<const Chain>(Chain{stages, plan, options});
  return run_parts(chain, chain->plan.parts(), input);
}

namespace autograd {

std::vector<ChainStage> as_stages(const std::vector<ChainFunction>& functions) {
  std::vector<ChainStage> stages;
  stages.reserve(functions.size());
  for (const ChainFunction& function : functions) stages.push_back({function});
  return stages;
}

void check_stages(const std::vector<ChainStage>& stages, const char* caller) {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto& [function, leaner] = stages[i];
    bool is_whole = static_cast<bool>(function);
    for (const ChainFunction& way : leaner) is_whole = is_whole && way;
    if (is_whole) continue;
    throw InvalidArgument(absl::StrCat(caller, ": function ", i, " is empty"));
  }
}

}  // namespace autograd
}  // namespace hvd
