// SPDX-License-Identifier: Apache-2.0
// Recursive doubling reduces a little data between many ranks. At distance 1,
// 2, 4 … each rank exchanges accumulators with the rank whose number differs in
// that bit. Both merge the two in the same order. Ranks beyond the largest
// power of two first give theirs to the first ranks, and get the result from
// them afterwards. (Thakur, Rabenseifner and Gropp, "Optimization of collective
// communication operations in MPICH", 2005, section 4.5)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/team.h"

namespace hvd::collective {

// Replaces `count` accumulators by the merged accumulators of two or more
// ranks, with the same bits on all. The accumulators fit into a slot of the
// link. Returns OK once all ranks have contributed; the last send may be under
// way.
absl::Status merge_by_doubling(const RingTeam& team, std::byte* accumulators,
                               std::int64_t count, const ReduceKernel& kernel,
                               ChunkLink& link);

// The same merge in one place: merges accumulators[r], of rank r, into
// accumulators[0], with the same bits, and overwrites the others.
void merge_as_doubling(std::span<std::byte* const> accumulators,
                       std::int64_t count, const ReduceKernel& kernel);

}  // namespace hvd::collective
