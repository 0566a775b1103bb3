// SPDX-License-Identifier: Apache-2.0
// How batches that reduce are carried out: fused, one call of a plane for each
// dtype, with the neutral value where this rank has joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/core/buffer.h"
#include "horovodpp/runtime/execution/batch_part.h"
#include "horovodpp/runtime/execution/plane_calls.h"

namespace hvd::runtime {

// What one call reduces: pieces of one dtype, and the memory of those for which
// this rank has none of its own. Used again from call to call.
struct ReductionScratch {
  std::vector<collective::Piece> pieces = {};
  std::vector<std::int64_t> counts = {};  // Of a reducescatter.
  std::vector<Buffer> memory = {};
  std::size_t bytes = 0;

  void clear();
};

// What `request` asks for, of `dtype`. `participants` are the ranks that have not
// joined.
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

// Rows of a first dimension of `rows` that a reducescatter leaves with the rank
// at `position` among `ranks`: as evenly as it goes, the first ones get more.
std::int64_t scattered_rows(std::int64_t rows, std::size_t ranks,
                            std::size_t position);

}  // namespace hvd::runtime
