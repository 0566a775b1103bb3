// SPDX-License-Identifier: Apache-2.0
// A Region is one call of a checkpointed function: its recording, and how to run
// it again.
//
// It has three lives. *Recorded and kept*: the recording holds what operations
// saved. *Recorded*: it knows of each tensor only what it looked like.
// *Replayed*: at the first tensor that a backward asks for, the function runs
// again, watched by a Replay, which collects the tensors for this backward; each
// is let go of as it is handed out.
//
// Regions nest: a tensor belongs to the innermost region, and the inputs of a
// region are saved as any tensor is, so that they belong to the one around it.
// Several threads may run backward at once.
#pragma once

#include <cstdint>
#include <span>

#include "horovodpp/checkpoint/recording.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class Replay;

class Region : public Recording {
 public:
  using Recording::Recording;

  // --- SavedTensorHolder ---
  Tensor restore(std::uint32_t place, Node& node) override;

 private:
  // Calls the function again, with these for the tensors among its arguments.
  virtual void call_again(std::span<const Tensor> inputs) = 0;

  void replay_into(Replay& replay);
};

}  // namespace autograd
}  // namespace hvd
