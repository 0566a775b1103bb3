// SPDX-License-Identifier: Apache-2.0
// A QuickPlan is how a batch of a cycle that is one short submission is carried out
// where all ranks are there: one call of a plane, with nothing left to decide.
//
// It belongs to the batch, and is gone with its cycle.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "horovodpp/collective/quick_call.h"
#include "horovodpp/coordinator/batch.h"
#include "horovodpp/coordinator/submission.h"
#include "horovodpp/runtime/execution/planes.h"

namespace hvd::runtime {

// How far a submission came that was tried at once.
enum class Quick : std::uint8_t {
  kNot,    // Nothing has happened: it is to be submitted.
  kBegun,  // It is in flight, as if it had been submitted.
  kDone,
};

class QuickPlan {
 public:
  // `set` outlives this.
  QuickPlan(const coordinator::Batch& batch, Planes::Set& set);

  // Whether there is a way to carry it out quickly.
  bool is_any() const { return call_ != nullptr; }

  // Carries out `batch`, to which `mine` belongs; see QuickCall.
  bool run(const coordinator::Batch& batch,
           const coordinator::Submission& mine);

 private:
  void plan_allreduce(const coordinator::Batch& batch, Planes::Set& set);

  std::unique_ptr<collective::QuickCall> call_;
  std::vector<collective::Piece> pieces_;  // Of each of its tensors.
};

}  // namespace hvd::runtime
