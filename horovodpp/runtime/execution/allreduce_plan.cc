// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/allreduce_plan.h"

#include <algorithm>

#include "horovodpp/core/status.h"
#include "horovodpp/runtime/execution/reductions.h"

namespace hvd::runtime {

using coordinator::SubmissionPtr;
using coordinator::TensorSpec;

AllreducePlan::AllreducePlan(const coordinator::Batch& batch)
    : device_(batch.request().device) {
  for (std::size_t entry = 0; entry < batch.entries.size(); ++entry) {
    const auto& tensors = batch.entries[entry].agreed->tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const TensorSpec& tensor = tensors[i];
      OneCall& call = call_of(batch, tensor.dtype);
      call.tensors.push_back({entry, i});
      call.pieces.push_back({.count = tensor.shape.num_elements()});
      call.bytes += tensor.bytes();
    }
  }
}

// Calls are in the order in which the dtypes first occur, the same on all
// ranks.
AllreducePlan::OneCall& AllreducePlan::call_of(const coordinator::Batch& batch,
                                               DType dtype) {
  const auto found = std::find_if(
      calls_.begin(), calls_.end(),
      [&](const OneCall& call) { return call.reduction.dtype == dtype; });
  if (found != calls_.end()) return *found;
  return calls_.emplace_back(OneCall{
      .reduction = reduction_of(batch.request(), dtype, batch.participants)});
}

absl::Status AllreducePlan::execute(
    PlaneCalls& calls, const std::vector<SubmissionPtr>& submissions) {
  for (OneCall& call : calls_) {
    for (std::size_t i = 0; i < call.pieces.size(); ++i) {
      const Tensor& tensor = call.tensors[i];
      const coordinator::Submission& mine = *submissions[tensor.entry];
      call.pieces[i].input = mine.inputs[tensor.index].data();
      call.pieces[i].output = mine.outputs[tensor.index].data();
    }
    HVD_RETURN_IF_ERROR(calls.make(
        device_, call.bytes,
        [&](auto& plane, const auto& tagged) {
          return plane.allreduce(call.pieces, call.reduction, tagged);
        },
        call.reduction.op));
  }
  return absl::OkStatus();
}

}  // namespace hvd::runtime
