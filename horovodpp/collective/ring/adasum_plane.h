// SPDX-License-Identifier: Apache-2.0
// An AdasumPlane is a RingPlane that also reduces by Adasum, which most planes
// do not support. It allreduces any floating-point type with ReduceOp::kAdasum
// between any number of ranks. For the method and the order in which ranks are
// merged see adasum_plane.cc.
//
// Tensors of one call are merged independently of each other. Small ones go
// through a round together. A round's memory is two accumulators for each
// element; one of the two takes no more than round_bytes, unless a single
// tensor needs more. A reducescatter by Adasum is refused. Not thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/ring/plane.h"

namespace hvd::collective {

struct AdasumOptions {
  RingOptions ring = {};
  std::size_t round_bytes = std::size_t{32} << 20;
};

class AdasumPlane : public RingPlane {
 public:
  // As RingPlane's.
  AdasumPlane(transport::Communicator& communicator, std::vector<int> members,
              const transport::WaitPolicy& waiting,
              const AdasumOptions& options = {})
      : RingPlane(communicator, std::move(members), waiting, options.ring),
        round_bytes_(options.round_bytes) {}

  std::string name() const override { return "adasum"; }
  bool reduces_by(ReduceOp) const override { return true; }

 private:
  absl::Status merge(std::span<const Piece> pieces, const Reduction& reduction,
                     const Call& call) override;

  const std::size_t round_bytes_;
};

}  // namespace hvd::collective
