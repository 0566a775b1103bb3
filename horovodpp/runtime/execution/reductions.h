// SPDX-License-Identifier: Apache-2.0
// Carries out batches that reduce: fused, with one call of a plane for each
// dtype, and with the neutral value where this rank has joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/runtime/execution/batch_part.h"
#include "horovodpp/runtime/execution/plane_calls.h"

namespace hvd::runtime {

// The pieces of one call, all of one dtype, and memory for those that this rank
// lacks. Reused from call to call.
struct ReductionScratch {
  std::vector<collective::Piece> pieces = {};
  std::vector<std::int64_t> counts = {};  // Of a reducescatter.
  std::vector<Buffer> memory = {};
  std::size_t bytes = 0;

  void clear();
};

// The reduction that `request` asks for, of `dtype`. `participants` is the
// number of ranks that have not joined.
collective::Reduction reduction_of(const coordinator::Request& request,
                                   DType dtype, int participants);

// Sets the parts' outcomes.
//   (errors)  as PlaneCalls::make; ResourceExhausted
absl::Status execute_allreduce(PlaneCalls& calls, int participants,
                               std::vector<BatchPart>& parts,
                               ReductionScratch& scratch);
absl::Status execute_reducescatter(PlaneCalls& calls, int participants,
                                   std::vector<BatchPart>& parts,
                                   ReductionScratch& scratch);

// The number of rows that a reducescatter of `rows` rows leaves on the rank at
// `position` among `ranks`. Shares are as even as possible, and the first ranks
// get one more.
std::int64_t scattered_rows(std::int64_t rows, std::size_t ranks,
                            std::size_t position);

}  // namespace hvd::runtime
