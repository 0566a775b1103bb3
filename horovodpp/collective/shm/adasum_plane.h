// SPDX-License-Identifier: Apache-2.0
// A ShmAdasumPlane is a ShmPlane that also reduces by Adasum
// (ReduceOp::kAdasum): any floating-point type, between any ranks of a node.
// adasum_plane.cc describes the algorithm.
//
// Tensors of one call are merged independently. Small tensors share a round. A
// round allocates an accumulator for each element: at most round_bytes, unless
// a single tensor needs more. A reducescatter by Adasum is refused. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/shm/plane.h"

namespace hvd::collective {

class ShmAdasumPlane : public ShmPlane {
 public:
  static constexpr std::size_t kRoundBytes = std::size_t{32} << 20;

  // See ShmPlane's constructors.
  ShmAdasumPlane(ShmBoard& board, std::vector<int> members,
                 std::size_t round_bytes = kRoundBytes)
      : ShmPlane(board, std::move(members)), round_bytes_(round_bytes) {}

  std::string name() const override { return "shm-adasum"; }
  bool reduces_by(ReduceOp) const override { return true; }

 private:
  absl::Status merge(std::span<const Piece> pieces, const Reduction& reduction,
                     const Call& call) override;
  absl::Status merge_in_rounds(std::span<const Piece> pieces,
                               const Reduction& reduction,
                               const BoardSeat& seat);

  const std::size_t round_bytes_;
};

}  // namespace hvd::collective
