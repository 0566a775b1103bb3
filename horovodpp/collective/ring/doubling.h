// SPDX-License-Identifier: Apache-2.0
// Recursive doubling: how to reduce a little data between many ranks. At distance 1,
// 2, 4 … each rank exchanges its accumulators with the one whose number differs
// in that bit, and both merge the two in the same order. Ranks beyond the
// greatest power of two give theirs to the first ranks before that, and get the
// result from them afterwards. (Thakur, Rabenseifner and Gropp, "Optimization of
// collective communication operations in MPICH", 2005, section 4.5)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/ring/chunk_link.h"

namespace hvd::collective {

struct DoublingSeat {
  std::span<const int> ranks;  // As the link numbers them; two or more.
  int rank = 0;                // The place of this one among them.
};

// Replaces `count` accumulators, which fit into a slot of the link, by those of
// all ranks, with the same bits on all of them. Returns OK once all ranks have
// given theirs, with the last send perhaps under way.
absl::Status merge_by_doubling(const DoublingSeat& seat,
                               std::byte* accumulators, std::int64_t count,
                               const ReduceKernel& kernel, ChunkLink& link);

// The same where all are in one place: merges accumulators[r], of rank r, into
// accumulators[0], with the same bits, and uses up the others.
void merge_as_doubling(std::span<std::byte* const> accumulators,
                       std::int64_t count, const ReduceKernel& kernel);

}  // namespace hvd::collective
