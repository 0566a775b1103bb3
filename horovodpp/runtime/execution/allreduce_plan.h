// SPDX-License-Identifier: Apache-2.0
// An AllreducePlan is the prepared execution of one allreduce batch of a cycle:
// a call for each dtype, and the tensor of each piece. Between steps only the
// tensors' addresses change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/reduction.h"
#include "horovodpp/coordinator/protocol/batch.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/runtime/execution/plane_calls.h"

namespace hvd::runtime {

class AllreducePlan {
 public:
  // Whether `batch` can be planned. In a cycle every rank takes part with each
  // of its tensors.
  static bool is_for(const coordinator::Batch& batch) {
    return batch.cycle != 0 &&
           batch.request().kind == coordinator::RequestKind::kAllreduce;
  }

  explicit AllreducePlan(const coordinator::Batch& batch);

  // Makes the calls; `submissions` belong to the batch's entries.
  //   (errors)  the planes' errors
  absl::Status execute(
      PlaneCalls& calls,
      const std::vector<coordinator::SubmissionPtr>& submissions);

 private:
  struct Tensor {
    std::size_t entry = 0;
    std::size_t index = 0;  // Within its group.
  };
  struct OneCall {
    collective::Reduction reduction = {};
    std::size_t bytes = 0;
    std::vector<Tensor> tensors = {};
    std::vector<collective::Piece> pieces = {};  // One for each tensor.
  };
  OneCall& call_of(const coordinator::Batch& batch, DType dtype);

  Device device_;
  std::vector<OneCall> calls_;
};

}  // namespace hvd::runtime
