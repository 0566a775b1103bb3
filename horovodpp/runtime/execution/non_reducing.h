// SPDX-License-Identifier: Apache-2.0
// How batches that move tensors without reducing them are carried out. Where
// sizes differ from rank to rank, and from call to call, the ranks tell each
// other first.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "horovodpp/runtime/execution/batch_part.h"
#include "horovodpp/runtime/execution/plane_calls.h"

namespace hvd::runtime {

// Set the parts' outcomes. A rank that has joined adds no rows to an allgather,
// and is not asked for a broadcast of its own or an alltoall.
//   (errors)  as PlaneCalls::make; ResourceExhausted; Internal where a rank
//             says what cannot be
absl::Status execute_allgather(PlaneCalls& calls,
                               std::vector<BatchPart>& parts);
absl::Status execute_broadcast(PlaneCalls& calls,
                               std::vector<BatchPart>& parts);
absl::Status execute_alltoall(PlaneCalls& calls, std::vector<BatchPart>& parts);

// Of what was captured, by every rank of the set.
//   Unimplemented  see DataPlane::replay
absl::Status execute_replay(PlaneCalls& calls,
                            const std::vector<BatchPart>& parts);

}  // namespace hvd::runtime
