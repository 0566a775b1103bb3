// SPDX-License-Identifier: Apache-2.0
// An alltoall over the wires: for each distance d, every rank r sends to rank r
// + d and receives from rank r - d.
#pragma once

#include "absl/status/status.h"
#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/team.h"

namespace hvd::collective {

//   InvalidArgument  a rank sends a size that is not expected here
absl::Status alltoall_on(const RingTeam& team, const Alltoall& exchange,
                         ChunkLink& link);

}  // namespace hvd::collective
