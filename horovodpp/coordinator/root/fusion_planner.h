// SPDX-License-Identifier: Apache-2.0
// Tensor fusion: a pure function from ready operations, in order, to batches.
// The root plans once for all ranks, so all execute the same batches.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "horovodpp/coordinator/protocol/request.h"

namespace hvd::coordinator {

struct FusionOptions {
  // Most bytes in a batch; 0: no fusion.
  std::size_t threshold = 128u << 20;
  // Most operations in a batch.
  std::size_t max_batch = 1024;
  // Whether to fuse groups with other operations.
  bool fuse_groups = true;
};

struct Candidate {
  const Request* request = nullptr;
  int participants = 0;  // Ranks that contribute.
};

// Whether a batch may contain `candidate` beside others, and whether it may
// contain these two if each may be beside others.
bool may_fuse_at_all(const Candidate& candidate, const FusionOptions& options);
bool may_fuse(const Candidate& left, const Candidate& right);

// Returns batches of indices into `ready`, in the order of execution.
//
// - Allreduces are fused while their bytes fit the threshold. They must have
//   the same process set, dtype, op, scales and kind of device.
// - All other operations, and larger ones, go alone.
// - A group is fused as a whole or not at all.
// - The search may pass over operations as long as fused and passed-over bytes
//   together fit the threshold. Passed-over operations keep their order.
// - The search stops at a barrier.
std::vector<std::vector<std::size_t>> plan_fusion(
    std::span<const Candidate> ready, const FusionOptions& options);

}  // namespace hvd::coordinator
