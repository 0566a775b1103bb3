// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_graph.h"

#include <algorithm>
#include <utility>

#include "horovodpp/core/status.h"

namespace hvd::device {

absl::StatusOr<bool> is_captured(const CudaContext& context, CuStream stream) {
  if (is_legacy(stream)) return false;
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  int state = kCuNotCapturing;
  HVD_RETURN_IF_ERROR(
      status_of(*context.api, context.api->cuStreamIsCapturing(stream, &state),
                "cuStreamIsCapturing"));
  return state != kCuNotCapturing;
}

absl::Status CudaGraph::begin(const CudaContext& context, CuStream stream) {
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  // Ignores the calls of other threads, such as NCCL's.
  return status_of(
      *context.api,
      context.api->cuStreamBeginCapture_v2(stream, kCuCaptureThreadLocal),
      "cuStreamBeginCapture");
}

absl::StatusOr<std::shared_ptr<CudaGraph>> CudaGraph::end(
    const CudaContext& context, CuStream stream) {
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  const CudaApi& api = *context.api;
  CuGraph recorded = nullptr;
  HVD_RETURN_IF_ERROR(status_of(api, api.cuStreamEndCapture(stream, &recorded),
                                "cuStreamEndCapture"));
  CuGraphExec exec = nullptr;
  const absl::Status made =
      status_of(api, api.cuGraphInstantiateWithFlags(&exec, recorded, 0),
                "cuGraphInstantiate");
  api.cuGraphDestroy(recorded);
  HVD_RETURN_IF_ERROR(made);
  return std::shared_ptr<CudaGraph>(new CudaGraph(context, exec));
}

absl::Status CudaGraph::launch(const CudaStream& stream) const {
  const CurrentContext current(context_);
  HVD_RETURN_IF_ERROR(current.status());
  const MutexLock lock(mutex_);
  if (exec_ == nullptr) {
    return absl::FailedPreconditionError("the graph has been dropped");
  }
  return status_of(*context_.api,
                   context_.api->cuGraphLaunch(exec_, stream.handle()),
                   "cuGraphLaunch");
}

void CudaGraph::drop() {
  const MutexLock lock(mutex_);
  if (exec_ == nullptr) return;
  const CurrentContext current(context_);
  context_.api->cuGraphExecDestroy(std::exchange(exec_, nullptr));
}

bool CudaGraph::is_dropped() const {
  const MutexLock lock(mutex_);
  return exec_ == nullptr;
}

void CudaGraphs::add(const std::shared_ptr<CudaGraph>& graph) {
  const MutexLock lock(mutex_);
  std::erase_if(graphs_, [](const auto& gone) { return gone.expired(); });
  graphs_.push_back(graph);
}

void CudaGraphs::drop_all() {
  std::vector<std::weak_ptr<CudaGraph>> all;
  {
    const MutexLock lock(mutex_);
    all.swap(graphs_);
  }
  for (const auto& one : all) {
    if (const auto graph = one.lock()) graph->drop();
  }
}

}  // namespace hvd::device
