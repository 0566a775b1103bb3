// SPDX-License-Identifier: Apache-2.0
// What can be said about a checkpointed function.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

// How far a recomputation is held to what forward did.
enum class DeterminismCheck {
  kNone,      // Only that no saved tensor is missing.
  kMetadata,  // The same number of tensors, of the same shapes, dtypes and devices.
  kChecksum,  // And with the same values, on the processor: reads all that is saved.
};

struct CheckpointOptions {
  // Whether the recomputation draws the random numbers that forward drew.
  bool preserve_rng_state = true;
  // Whether the recomputation ends as soon as it has made what backward needs, by an
  // exception through the function, instead of at its end.
  bool early_stop = true;
  DeterminismCheck determinism_check = DeterminismCheck::kMetadata;
  // Tensors that the function updates in place, as the running statistics of batch
  // norms: they are as they were after a recomputation. See is_recomputing() as well.
  std::vector<torch::Tensor> buffers = {};
};

}  // namespace libtorch
}  // namespace hvd
