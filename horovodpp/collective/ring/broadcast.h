// SPDX-License-Identifier: Apache-2.0
// A broadcast over the wires: by a binomial tree if it fits into a slot of the
// link, else along a chain.
#pragma once

#include "absl/status/status.h"
#include "horovodpp/collective/host_plane.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/team.h"

namespace hvd::collective {

absl::Status broadcast_on(const RingTeam& team, const Broadcast& broadcast,
                          ChunkLink& link);

}  // namespace hvd::collective
