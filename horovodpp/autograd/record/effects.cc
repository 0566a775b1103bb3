// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/record/effects.h"

#include "horovodpp/autograd/graph/error.h"

namespace hvd::autograd {

const std::any* EffectLog::replayed() {
  const std::any* result = nullptr;
  // The innermost replay decides. A region inside a replay records the values
  // that the outer region replays.
  for (EffectScope* scope = graph_state.effects; scope != nullptr;
       scope = scope->outer_) {
    if (!scope->replay_) continue;
    const auto& results = scope->log_->results_;
    if (scope->next_ == results.size()) {
      throw CheckpointError(
          "run_once: the recomputation of a checkpointed function has more "
          "effects than forward had; the function must do the same again");
    }
    result = &results[scope->next_++];
  }
  return result;
}

void EffectLog::record(const std::any& result) {
  for (EffectScope* scope = graph_state.effects; scope != nullptr;
       scope = scope->outer_) {
    if (!scope->replay_) scope->log_->results_.push_back(result);
  }
}

void throw_other_effect() {
  throw CheckpointError(
      "run_once: an effect in the recomputation of a checkpointed function "
      "returns another type than the one in forward; the function must do the "
      "same again");
}

}  // namespace hvd::autograd
