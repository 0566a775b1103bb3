// SPDX-License-Identifier: Apache-2.0
// What can be said about a checkpointed region, where it is made or for a scope.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "horovodpp/checkpoint/offload_pool.h"
#include "horovodpp/checkpoint/policy.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// How far a recomputation is held to what forward did.
enum class DeterminismCheck {
  kNone,      // Only that no saved tensor is missing.
  kMetadata,  // The same number of tensors, of the same shapes and dtypes.
  kChecksum,  // And with the same bits: reads all that is saved, twice.
};

struct CheckpointOptions {
  // Whether the recomputation draws the random numbers that forward drew. (Its
  // cost is a few nanoseconds.)
  bool preserve_rng_state = true;
  // Whether the recomputation ends as soon as it has made what backward needs,
  // by an exception through the function, instead of at its end.
  bool early_stop = true;
  DeterminismCheck determinism_check = DeterminismCheck::kMetadata;
  // Whether errors tell all operations of both runs, and where they were
  // called. Slow.
  bool debug = false;
  // Which results of operations are kept: selective checkpointing, see policy.h.
  SelectivePolicy policy = {};
  // Whether a policy keeps copies, so that the function may write to the results.
  // Writing to what is kept is an error otherwise.
  bool keep_copies = false;
  // Where a policy moves results; null: OffloadPool::of_process(). It outlives the
  // scope of the call.
  OffloadPool* offload_pool = nullptr;
  // Called before forward, or before each recomputation; what they return lives
  // until that has ended. For modes of the program's own:
  //   .recompute_context = [] { return std::make_shared<QuietLog>(); }
  std::function<std::shared_ptr<void>()> forward_context = {};
  std::function<std::shared_ptr<void>()> recompute_context = {};
  // The older way: see reentrant_checkpoint.h. All of the above but
  // preserve_rng_state is without effect then, and `debug`, a policy and contexts
  // are refused.
  bool use_reentrant = false;
};

// While it lives, regions made on this thread stop early, or do not, whatever
// their options say. Scopes nest; the innermost counts.
class CheckpointEarlyStop {
 public:
  explicit CheckpointEarlyStop(bool enabled);
  ~CheckpointEarlyStop();
  CheckpointEarlyStop(const CheckpointEarlyStop&) = delete;
  CheckpointEarlyStop& operator=(const CheckpointEarlyStop&) = delete;

 private:
  std::optional<bool> outer_;
};

// The same for `debug`; nullopt leaves it to the options.
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

// `options` as the scopes of this thread have it.
CheckpointOptions in_scope(CheckpointOptions options);

//   InvalidArgument  an option has no meaning for the reentrant kind
void check_reentrant(const CheckpointOptions& options);

}  // namespace autograd
}  // namespace hvd
