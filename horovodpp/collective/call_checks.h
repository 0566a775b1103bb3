// What every plane asks of the arguments of a call before it moves anything.
// Ranks here are positions in the plane.
#pragma once

#include <cstddef>
#include <span>

#include "absl/status/status.h"

namespace hvd::collective {

//   InvalidArgument  `bytes_of_rank` has not one entry for each of `ranks`, or
//                    another one for this rank than `mine_bytes`
absl::Status check_allgather(std::size_t mine_bytes,
                             std::span<const std::size_t> bytes_of_rank,
                             int rank, int ranks);

//   InvalidArgument  there is no rank `root`
absl::Status check_broadcast(int root, int ranks);

}  // namespace hvd::collective
