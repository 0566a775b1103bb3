// SPDX-License-Identifier: Apache-2.0
// Checks of a call's arguments that every plane makes before it moves data.
// Ranks here are positions in the plane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "horovodpp/collective/data_plane.h"

namespace hvd::collective {

//   InvalidArgument  `counts` does not have one entry per piece and rank, in
//                    that order, or the entries of a piece do not add up to it
absl::Status check_reducescatter(std::span<const Piece> pieces,
                                 std::span<const std::int64_t> counts,
                                 int ranks);

//   InvalidArgument  `bytes_of_rank` does not have one entry for each of
//                    `ranks`, or this rank's is not `mine_bytes`
absl::Status check_allgather(std::size_t mine_bytes,
                             std::span<const std::size_t> bytes_of_rank,
                             int rank, int ranks);

//   InvalidArgument  there is no rank `root`
absl::Status check_broadcast(int root, int ranks);

//   InvalidArgument  either does not have one entry for each of `ranks`; the
//                    sent sizes do not add up to `input_bytes`; this rank does
//                    not send itself the size that it expects
absl::Status check_alltoall(std::size_t input_bytes,
                            std::span<const std::size_t> send_bytes,
                            std::span<const std::size_t> receive_bytes,
                            int rank, int ranks);

// Unimplemented: `why` this call cannot be captured into a graph.
absl::Status cannot_be_captured(const std::string& why);

}  // namespace hvd::collective
