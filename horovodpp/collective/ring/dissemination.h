// SPDX-License-Identifier: Apache-2.0
// A dissemination shows ranks that all of them are there. The number of rounds
// is the logarithm of the number of ranks (Hensgen, Finkel and Manber, "Two
// algorithms for barrier synchronization", 1988).
#pragma once

#include "absl/status/status.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/team.h"

namespace hvd::collective {

// Returns OK on no rank before every rank has called it; the last send may be
// under way.
absl::Status disseminate(const RingTeam& team, ChunkLink& link);

}  // namespace hvd::collective
