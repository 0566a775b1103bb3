// SPDX-License-Identifier: Apache-2.0
// A CudaGraph is work that was recorded from a stream instead of being done there, and
// of those that came behind its events. It is put into a stream as a whole, as often as
// one likes.
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
#include "horovodpp/core/mutex.h"
#include "horovodpp/device/cuda_driver.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::device {

// Whether what is put into `stream` is recorded. (Never of the legacy default stream,
// nullptr.)
absl::StatusOr<bool> is_captured(const CudaContext& context, CuStream stream);

class CudaGraph {
 public:
  // From now on what is put into `stream`, which is not the legacy default one, is
  // recorded; end() is called on the same thread, whatever happens between.
  static absl::Status begin(const CudaContext& context, CuStream stream);
  //   Internal  also where something was put into it that cannot be recorded, or
  //             into another stream that it was not put behind again
  static absl::StatusOr<std::shared_ptr<CudaGraph>> end(
      const CudaContext& context, CuStream stream);
  ~CudaGraph() { drop(); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  //   FailedPrecondition  it was dropped
  absl::Status launch(const CudaStream& stream) const;

  // Gives back what it is made of. What is under way is still done.
  void drop();
  bool is_dropped() const;

 private:
  CudaGraph(const CudaContext& context, CuGraphExec exec)
      : context_(context), exec_(exec) {}

  const CudaContext context_;
  mutable Mutex mutex_;
  CuGraphExec exec_ ABSL_GUARDED_BY(mutex_);  // nullptr: dropped.
};

// Graphs that have to go before something that they use does. Thread-safe.
class CudaGraphs {
 public:
  void add(const std::shared_ptr<CudaGraph>& graph);
  void drop_all();

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<CudaGraph>> graphs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::device
