// SPDX-License-Identifier: Apache-2.0
// Carries out batches that move tensors without reducing them. If sizes differ
// between ranks and calls, the ranks exchange them first.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "horovodpp/runtime/execution/batch_part.h"
#include "horovodpp/runtime/execution/plane_calls.h"

namespace hvd::runtime {

// These functions set the parts' outcomes. A joined rank adds no rows to an
// allgather, and gets no broadcast from itself. An alltoall sends the rows that
// the submissions' splits name; a joined rank sends none.
//   (errors)  as PlaneCalls::make; ResourceExhausted; Internal if a rank's
//             numbers are impossible
absl::Status execute_allgather(PlaneCalls& calls,
                               std::vector<BatchPart>& parts);
absl::Status execute_broadcast(PlaneCalls& calls,
                               std::vector<BatchPart>& parts);
absl::Status execute_alltoall(PlaneCalls& calls, std::vector<BatchPart>& parts);

// Replays a captured graph on every rank of the set.
//   Unimplemented  see DataPlane::replay
absl::Status execute_replay(PlaneCalls& calls,
                            const std::vector<BatchPart>& parts);

}  // namespace hvd::runtime
