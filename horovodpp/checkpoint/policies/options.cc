// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/policies/options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"

namespace hvd {
namespace {

thread_local std::optional<bool> early_stop_of_scope;
thread_local std::optional<bool> debug_of_scope;

}  // namespace

CheckpointEarlyStop::CheckpointEarlyStop(bool enabled)
    : outer_(std::exchange(early_stop_of_scope, enabled)) {}
CheckpointEarlyStop::~CheckpointEarlyStop() { early_stop_of_scope = outer_; }

CheckpointDebug::CheckpointDebug(std::optional<bool> enabled)
    : outer_(std::exchange(debug_of_scope, enabled)) {}
CheckpointDebug::~CheckpointDebug() { debug_of_scope = outer_; }

namespace autograd {

CheckpointOptions in_scope(CheckpointOptions options) {
  if (early_stop_of_scope) options.early_stop = *early_stop_of_scope;
  if (debug_of_scope) options.debug = *debug_of_scope;
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
