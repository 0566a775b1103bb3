// SPDX-License-Identifier: Apache-2.0
// Checks of a call's arguments that every plane makes before it moves data.
// Ranks here are positions in the plane.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "horovodpp/collective/calls.h"

namespace hvd::collective {

// The arguments of a call of `rank` among `ranks`.
//   InvalidArgument  there is not one size or count for each rank (and piece),
//                    or they do not add up; there is no such root; this rank
//                    contributes, or sends itself, another size than is listed;
//                    the reduction is invalid
absl::Status check(const Allreduce& what, int rank, int ranks);
absl::Status check(const Reducescatter& what, int rank, int ranks);
absl::Status check(const Allgather& what, int rank, int ranks);
absl::Status check(const Broadcast& what, int rank, int ranks);
absl::Status check(const Alltoall& what, int rank, int ranks);
absl::Status check(const Barrier& what, int rank, int ranks);
absl::Status check(const AllgatherAlike& what, int rank, int ranks);
absl::Status check(const AlltoallAlike& what, int rank, int ranks);

// Unimplemented: `why` this call cannot be captured into a graph.
absl::Status cannot_be_captured(const std::string& why);

}  // namespace hvd::collective
