// SPDX-License-Identifier: Apache-2.0
// Which operations travel together: a pure function from what is ready, in
// order, to batches. The one who cuts batches runs it once for everybody, so
// that all ranks execute the same ones.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "horovodpp/coordinator/request.h"

namespace hvd::coordinator {

struct FusionOptions {
  // Bytes of a batch; 0: nothing is fused.
  std::size_t threshold = 128u << 20;
  // Operations of a batch.
  std::size_t max_batch = 1024;
  // Whether groups travel with others.
  bool fuse_groups = true;
};

struct Candidate {
  const Request* request = nullptr;
  int participants = 0;  // Ranks that contribute.
};

// Batches of indices into `ready`, in the order of execution. Allreduces of the
// same process set, with equal dtype, op, scales and kind of device, are fused
// while their bytes stay within the threshold; everything else, and what is
// larger by itself, goes alone. A group is fused as a whole or not at all.
//
// Looking for companions it may pass over others as long as fused and
// passed-over bytes together stay within the threshold; those passed over keep
// their order. Over a barrier it does not look.
std::vector<std::vector<std::size_t>> plan_fusion(
    std::span<const Candidate> ready, const FusionOptions& options);

}  // namespace hvd::coordinator
