// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/quick_plan.h"

#include <algorithm>
#include <cstddef>

#include "horovodpp/runtime/execution/plane_calls.h"
#include "horovodpp/runtime/execution/reductions.h"

namespace hvd::runtime {

using coordinator::RequestKind;

QuickPlan::QuickPlan(const coordinator::Batch& batch, Planes::Set& set,
                     trace::Recorder* recorder) {
  const coordinator::Request& request = batch.request();
  if (batch.entries.size() != 1 || !request.device.is_cpu()) return;
  const collective::DataPlane* plane = nullptr;
  if (request.kind == RequestKind::kAllreduce) {
    plane = plan_allreduce(batch, set);
  } else if (request.kind == RequestKind::kBarrier) {
    plane = plan_barrier(set);
  }
  if (plane == nullptr || recorder == nullptr) return;
  traced_plane_ = set.traced_label(*plane, *recorder);
}

collective::DataPlane* QuickPlan::plan_barrier(Planes::Set& set) {
  const auto plane = set.selector.select(Device(), 0);
  if (!plane.ok()) return nullptr;
  call_ = (*plane)->quick_barrier();
  return *plane;
}

// A QuickPlan makes one call, and tensors of several dtypes need several.
collective::DataPlane* QuickPlan::plan_allreduce(
    const coordinator::Batch& batch, Planes::Set& set) {
  const coordinator::Request& request = batch.request();
  const DType dtype = request.tensors.front().dtype;
  std::size_t bytes = 0;
  for (const coordinator::TensorSpec& tensor : request.tensors) {
    if (tensor.dtype != dtype) return nullptr;
    pieces_.push_back({.count = tensor.shape.num_elements()});
    bytes += tensor.bytes();
  }
  const auto plane = set.selector.select(request.device, bytes, request.op);
  if (!plane.ok()) return nullptr;
  call_ = (*plane)->quick_allreduce(
      reduction_of(request, dtype, batch.participants), bytes);
  return *plane;
}

bool QuickPlan::run(const coordinator::Batch& batch,
                    const coordinator::Submission& mine) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    pieces_[i].input = mine.inputs[i].data();
    pieces_[i].output = mine.outputs[i].data();
  }
  return call_->run(pieces_, tag_of(batch, 0));
}

}  // namespace hvd::runtime
