#include "horovodpp/collective/ring_circuit.h"

#include <algorithm>

#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

absl::Status send_own(const RingSeat& seat, std::int64_t round, RingFlow& flow,
                      ChunkLink& link) {
  for (int i = 0; i < seat.shape.depth; ++i) {
    const RingChunk chunk = {
        .round = round, .step = 0, .segment = seat.shape.rank, .chunk = i};
    const std::size_t bytes = flow.bytes(chunk);
    if (bytes == 0) continue;
    HVD_ASSIGN_OR_RETURN(std::byte * slot, link.take());
    flow.load(chunk, slot);
    HVD_RETURN_IF_ERROR(link.send(seat.next, slot, bytes));
  }
  return absl::OkStatus();
}

absl::Status pass_on(const RingSeat& seat, RingChunk chunk, RingFlow& flow,
                     ChunkLink& link) {
  if (flow.bytes(chunk) == 0) return absl::OkStatus();
  HVD_ASSIGN_OR_RETURN(std::byte * slot, link.receive());
  flow.receive(chunk, slot);
  ++chunk.step;
  const std::size_t bytes = chunk.step < flow.steps() ? flow.bytes(chunk) : 0;
  if (bytes > 0) return link.send(seat.next, slot, bytes);
  link.release(slot);
  return absl::OkStatus();
}

}  // namespace

// Receives are posted `depth` chunks ahead, and a rank sends no more than
// `depth` chunks of its own before it sends on what it received. So what has to
// be received before a chunk can be sent on always finds a slot: take the
// earliest chunk, over all ranks, that cannot be sent; all that it waits for
// comes before it.
absl::Status circulate(const RingSeat& seat, RingFlow& flow, ChunkLink& link) {
  const int ranks = seat.shape.ranks;
  const int depth = seat.shape.depth;
  const std::int64_t per_round = std::int64_t{flow.steps()} * depth;
  const std::int64_t total = flow.rounds() * per_round;
  const auto incoming = [&](std::int64_t number) {
    const int place = static_cast<int>(number % per_round);
    const int step = place / depth;
    const int behind = (step + 1) % ranks;
    return RingChunk{.round = number / per_round,
                     .step = step,
                     .segment = (seat.shape.rank + ranks - behind) % ranks,
                     .chunk = place % depth};
  };
  std::int64_t posted = 0;
  for (std::int64_t number = 0; number < total; ++number) {
    for (; posted < std::min(total, number + depth); ++posted) {
      const std::size_t bytes = flow.bytes(incoming(posted));
      if (bytes == 0) continue;
      HVD_RETURN_IF_ERROR(link.post_receive(seat.previous, bytes));
    }
    if (number % per_round == 0) {
      HVD_RETURN_IF_ERROR(send_own(seat, number / per_round, flow, link));
    }
    HVD_RETURN_IF_ERROR(pass_on(seat, incoming(number), flow, link));
  }
  return absl::OkStatus();
}

}  // namespace hvd::collective
