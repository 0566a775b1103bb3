// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/policies/options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_state.h"

namespace hvd {

CheckpointEarlyStop::CheckpointEarlyStop(bool enabled)
    : outer_(std::exchange(autograd::graph_state.early_stop, enabled)) {}
CheckpointEarlyStop::~CheckpointEarlyStop() {
  autograd::graph_state.early_stop = outer_;
}

CheckpointDebug::CheckpointDebug(std::optional<bool> enabled)
    : outer_(std::exchange(autograd::graph_state.checkpoint_debug, enabled)) {}
CheckpointDebug::~CheckpointDebug() {
  autograd::graph_state.checkpoint_debug = outer_;
}

namespace autograd {

CheckpointOptions in_scope(CheckpointOptions options) {
  options.early_stop = graph_state.early_stop.value_or(options.early_stop);
  options.debug = graph_state.checkpoint_debug.value_or(options.debug);
  return options;
}

void check_reentrant(const CheckpointOptions& options) {
  const char* refused = options.debug               ? "debug"
                        : options.policy            ? "a policy"
                        : options.forward_context   ? "forward_context"
                        : options.recompute_context ? "recompute_context"
                                                    : nullptr;
  if (refused == nullptr) return;
  throw InvalidArgument(
      absl::StrCat("checkpoint: ", refused,
                   " is only supported when use_reentrant = false"));
}

}  // namespace autograd
}  // namespace hvd
