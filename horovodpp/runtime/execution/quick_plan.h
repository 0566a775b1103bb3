// SPDX-License-Identifier: Apache-2.0
// A QuickPlan is the prepared execution of a cycle's batch as a single call of
// a plane. The batch is one short submission in which all ranks take part.
//
// It belongs to the batch, and ends with its cycle.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "horovodpp/collective/quick_call.h"
#include "horovodpp/coordinator/protocol/batch.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/runtime/execution/planes.h"

namespace hvd::runtime {

// The progress of a submission that was tried at once.
enum class Quick : std::uint8_t {
  kNot,    // Not started: submit it.
  kBegun,  // In flight, as if it had been submitted.
  kDone,
};

class QuickPlan {
 public:
  // `set` and `recorder`, which may be nullptr, outlive this object.
  QuickPlan(const coordinator::Batch& batch, Planes::Set& set,
            trace::Recorder* recorder);

  // Whether the batch has a quick plan.
  bool is_any() const { return call_ != nullptr; }

  // The plane's name in the trace.
  std::uint16_t traced_plane() const { return traced_plane_; }

  // Carries out `batch`, to which `mine` belongs; see QuickCall.
  bool run(const coordinator::Batch& batch,
           const coordinator::Submission& mine);

 private:
  collective::DataPlane* plan_allreduce(const coordinator::Batch& batch,
                                        Planes::Set& set);
  collective::DataPlane* plan_barrier(Planes::Set& set);

  std::unique_ptr<collective::QuickCall> call_;
  std::vector<collective::Piece> pieces_;  // One for each of its tensors.
  std::uint16_t traced_plane_ = 0;
};

}  // namespace hvd::runtime
