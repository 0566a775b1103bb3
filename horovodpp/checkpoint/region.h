// SPDX-License-Identifier: Apache-2.0
// A Region is one call of a checkpointed function: its recording, and how to
// run the function again.
//
// A region has three states:
// - *recorded and kept*: the recording holds the saved tensors;
// - *recorded*: the recording only describes the saved tensors;
// - *replayed*: at the first tensor that a backward asks for, the function runs
//   again, observed by a Replay. The Replay collects the tensors for this
//   backward, and releases each one when it is taken.
//
// Regions nest. A tensor belongs to the innermost region; the inputs of a
// region are saved as any tensor is, so they belong to the enclosing region.
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
  // Calls the function again, with `inputs` as the tensors among its arguments.
  virtual void call_again(std::span<const Tensor> inputs) = 0;

  void replay_into(Replay& replay);
};

}  // namespace autograd
}  // namespace hvd
