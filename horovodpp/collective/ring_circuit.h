// Sends what a RingFlow has around a ring of ranks, through a ChunkLink.
#pragma once

#include "absl/status/status.h"
#include "horovodpp/collective/chunk_link.h"
#include "horovodpp/collective/ring_flow.h"

namespace hvd::collective {

// This rank's place in a ring, and its neighbours there, as the link numbers
// ranks.
struct RingSeat {
  RingShape shape;
  int previous = 0;
  int next = 0;
};

// Returns once the flow has received all that it is to, with the last sends
// perhaps under way. `seat.shape` is the flow's; its depth is the link's, and
// its slots are no longer than the link's.
absl::Status circulate(const RingSeat& seat, RingFlow& flow, ChunkLink& link);

}  // namespace hvd::collective
