// SPDX-License-Identifier: Apache-2.0
// A CudaGraph is recorded work of a stream, and of the streams ordered after
// its events. Launching it enqueues all the work at once, any number of times.
//
//   HVD_RETURN_IF_ERROR(CudaGraph::begin(context, stream));
//   ...                                        // Put into the stream, and recorded.
//   HVD_ASSIGN_OR_RETURN(auto graph, CudaGraph::end(context, stream));
//   HVD_RETURN_IF_ERROR(graph->launch(other_stream));
//
// Errors are Internal, with the driver's words. Thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/device/cuda_driver.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::device {

// Whether work on `stream` is being recorded. (Never for the legacy default
// stream, nullptr.)
absl::StatusOr<bool> is_captured(const CudaContext& context, CuStream stream);

class CudaGraph {
 public:
  // Starts to record the work on `stream`, which is not the legacy default one.
  // Call end() on the same thread in any case.
  static absl::Status begin(const CudaContext& context, CuStream stream);
  //   Internal  also if the stream got work that cannot be recorded, or if
  //             another stream got work and was not ordered before this one
  //             again
  static absl::StatusOr<std::shared_ptr<CudaGraph>> end(
      const CudaContext& context, CuStream stream);
  ~CudaGraph() { drop(); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  //   FailedPrecondition  it was dropped
  absl::Status launch(const CudaStream& stream) const;

  // Frees the graph's resources. Work under way is still done.
  void drop();
  bool is_dropped() const;

 private:
  CudaGraph(const CudaContext& context, CuGraphExec exec)
      : context_(context), exec_(exec) {}

  const CudaContext context_;
  mutable Mutex mutex_;
  CuGraphExec exec_ ABSL_GUARDED_BY(mutex_);  // nullptr: dropped.
};

// Graphs that must be destroyed before something that they use. Thread-safe.
class CudaGraphs {
 public:
  void add(const std::shared_ptr<CudaGraph>& graph);
  void drop_all();

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<CudaGraph>> graphs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::device
