// SPDX-License-Identifier: Apache-2.0
// Options of a checkpointed function.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

// How strictly a recomputation is compared with forward.
enum class DeterminismCheck {
  kNone,      // Only that no saved tensor is missing.
  kMetadata,  // As many tensors, of the same shapes, dtypes and devices.
  // Also with the same values, for CPU tensors: reads all saved tensors.
  kChecksum,
};

struct CheckpointOptions {
  // Whether the recomputation draws the same random numbers as forward.
  bool preserve_rng_state = true;
  // Whether the recomputation ends, by an exception through the function, as
  // soon as it has made everything that backward needs.
  bool early_stop = true;
  DeterminismCheck determinism_check = DeterminismCheck::kMetadata;
  // Tensors that the function updates in-place, as the running statistics of
  // batch norms: restored after a recomputation. See also is_recomputing().
  std::vector<torch::Tensor> buffers = {};
};

}  // namespace libtorch
}  // namespace hvd
