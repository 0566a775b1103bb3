// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/circuit.h"

#include <algorithm>

#include "horovodpp/core/status.h"

namespace hvd::collective {

RingCircuit::RingCircuit(const RingSeat& seat, RingFlow& flow, ChunkLink& link)
    : seat_(seat),
      flow_(flow),
      link_(link),
      per_round_(std::int64_t{flow.steps()} * seat.shape.depth),
      total_(flow.rounds() * per_round_) {}

RingChunk RingCircuit::incoming(std::int64_t number) const {
  const int ranks = seat_.shape.ranks;
  const int depth = seat_.shape.depth;
  const int place = static_cast<int>(number % per_round_);
  const int step = place / depth;
  const int behind = (step + 1) % ranks;
  return {.round = number / per_round_,
          .step = step,
          .segment = (seat_.shape.rank + ranks - behind) % ranks,
          .chunk = place % depth};
}

absl::StatusOr<Advance> RingCircuit::advance() {
  bool moved = false;
  while (number_ < total_) {
    HVD_RETURN_IF_ERROR(post_receives());
    while (number_ % per_round_ == 0 && own_ < seat_.shape.depth) {
      HVD_ASSIGN_OR_RETURN(const bool sent, send_own());
      if (!sent) return moved ? Advance::kMoved : Advance::kStuck;
      ++own_;
      moved = true;
    }
    HVD_ASSIGN_OR_RETURN(const bool passed, pass_on());
    if (!passed) return moved ? Advance::kMoved : Advance::kStuck;
    ++number_;
    if (number_ % per_round_ == 0) own_ = 0;
    moved = true;
  }
  return Advance::kDone;
}

absl::Status RingCircuit::post_receives() {
  for (; posted_ < std::min(total_, number_ + seat_.shape.depth); ++posted_) {
    const std::size_t bytes = flow_.bytes(incoming(posted_));
    if (bytes == 0) continue;
    HVD_RETURN_IF_ERROR(link_.post_receive(seat_.previous, bytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> RingCircuit::send_own() {
  const RingChunk chunk = {.round = number_ / per_round_,
                           .step = 0,
                           .segment = seat_.shape.rank,
                           .chunk = own_};
  const std::size_t bytes = flow_.bytes(chunk);
  if (bytes == 0) return true;
  HVD_ASSIGN_OR_RETURN(const bool free, link_.can_send());
  if (!free) return false;
  HVD_ASSIGN_OR_RETURN(std::byte * slot, link_.take());
  flow_.load(chunk, slot);
  HVD_RETURN_IF_ERROR(link_.send(seat_.next, slot, bytes));
  return true;
}

absl::StatusOr<bool> RingCircuit::pass_on() {
  RingChunk chunk = incoming(number_);
  if (flow_.bytes(chunk) == 0) return true;
  if (held_ == nullptr) {
    HVD_ASSIGN_OR_RETURN(held_, link_.try_receive());
    if (held_ == nullptr) return false;
    flow_.receive(chunk, held_);
  }
  ++chunk.step;
  const std::size_t bytes = chunk.step < flow_.steps() ? flow_.bytes(chunk) : 0;
  if (bytes > 0) {
    HVD_ASSIGN_OR_RETURN(const bool free, link_.can_send());
    if (!free) return false;
    HVD_RETURN_IF_ERROR(link_.send(seat_.next, held_, bytes));
  } else {
    link_.release(held_);
  }
  held_ = nullptr;
  return true;
}

absl::Status circulate(const RingSeat& seat, RingFlow& flow, ChunkLink& link) {
  RingCircuit circuit(seat, flow, link);
  return link.drive([&] { return circuit.advance(); });
}

}  // namespace hvd::collective
