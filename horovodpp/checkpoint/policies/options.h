// SPDX-License-Identifier: Apache-2.0
// The options of a checkpointed region, for one call or a scope.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "horovodpp/checkpoint/policies/offload_pool.h"
#include "horovodpp/checkpoint/policies/policy.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// How strictly a recomputation is compared with forward.
enum class DeterminismCheck {
  kNone,      // Only that no saved tensor is missing.
  kMetadata,  // The same number of tensors, of the same shapes and dtypes.
  kChecksum,  // Also the same bits: reads all saved tensors twice.
};

struct CheckpointOptions {
  // Whether the recomputation draws the random numbers of forward again. (Costs
  // a few nanoseconds.)
  bool preserve_rng_state = true;
  // Whether the recomputation stops once backward has all it needs, by an
  // exception through the function.
  bool early_stop = true;
  DeterminismCheck determinism_check = DeterminismCheck::kMetadata;
  // Whether errors list all operations of both runs with their call stacks.
  // Slow.
  bool debug = false;
  // The results of operations to keep: selective checkpointing, see policy.h.
  SelectivePolicy policy = {};
  // Whether a policy keeps copies, so that the function may write to results.
  // Otherwise a write to a kept result is an error.
  bool keep_copies = false;
  // The pool for results that a policy moves; null: OffloadPool::of_process().
  // It outlives the call's region.
  OffloadPool* offload_pool = nullptr;
  // Called before forward, or before each recomputation. The returned object
  // lives until that run ends. For modes of the program:
  //   .recompute_context = [] { return std::make_shared<QuietLog>(); }
  std::function<std::shared_ptr<void>()> forward_context = {};
  std::function<std::shared_ptr<void>()> recompute_context = {};
  // The older way: see reentrant_checkpoint.h. Only preserve_rng_state has an
  // effect then; `debug`, a policy and contexts are errors.
  bool use_reentrant = false;
};

// Overrides early_stop for regions created on this thread while it lives.
// Scopes nest; the innermost wins.
class CheckpointEarlyStop {
 public:
  explicit CheckpointEarlyStop(bool enabled);
  ~CheckpointEarlyStop();
  CheckpointEarlyStop(const CheckpointEarlyStop&) = delete;
  CheckpointEarlyStop& operator=(const CheckpointEarlyStop&) = delete;

 private:
  std::optional<bool> outer_;
};

// Overrides `debug` likewise; nullopt: the options decide.
class CheckpointDebug {
 public:
  explicit CheckpointDebug(std::optional<bool> enabled);
  ~CheckpointDebug();
  CheckpointDebug(const CheckpointDebug&) = delete;
  CheckpointDebug& operator=(const CheckpointDebug&) = delete;

 private:
  std::optional<bool> outer_;
};

namespace autograd {

// `options`, with the overrides of this thread's scopes.
CheckpointOptions in_scope(CheckpointOptions options);

//   InvalidArgument  an option does not apply to reentrant checkpoints
void check_reentrant(const CheckpointOptions& options);

}  // namespace autograd
}  // namespace hvd
