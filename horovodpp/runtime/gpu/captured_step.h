// SPDX-License-Identifier: Apache-2.0
// A CapturedStep is one step of a program on a GPU stream, collectives
// included. It is recorded once as a CUDA graph and replayed any number of
// times.
//
//   hvd::CapturedStep step = hvd::value_or_throw(hvd::CapturedStep::capture(
//       hvd::current_runtime(), {.name = "step", .device = gpu, .stream = stream},
//       [&] {
//         forward_and_backward(stream);             // kernels
//         sum.start();                              // hvd::Prepared, or any other call,
//         hvd::throw_if_error(sum.wait(stream));    // ordered in the stream
//         update(stream);
//         return hvd::Status();
//       }));
//   for (...) {
//     hvd::throw_if_error(step.replay().wait(stream));
//   }
//
// Every rank of the process set captures the same collectives. Other ranks see
// a replay as a collective with the step's name. Ranks agree on each replay in
// one order with all other submissions, so they may do other work between
// replays and stop at any time. The graph ends with the job or when any process
// set is removed: each later replay fails, and the step must be captured again.
//
// Its collectives use NCCL, between ranks that have used NCCL before. Memory
// that the step uses, allocated results included, must stay in place as long as
// it is replayed.
//
// For one thread at a time.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <functional>
#include <memory>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/settings/capture_options.h"

namespace HVD_EXPORT hvd {

class Runtime;
namespace device {
class CudaGraph;
}

class CapturedStep {
 public:
  // An empty step: each replay fails with FailedPrecondition.
  CapturedStep();
  ~CapturedStep();
  CapturedStep(CapturedStep&& other) noexcept;
  CapturedStep& operator=(CapturedStep&& other) noexcept;

  // Calls `step` on this thread and records the work that it enqueues on the
  // stream instead of running it. Ranks communicate only to agree on the
  // captured collectives.
  //   InvalidArgument  no name, no stream, or no such GPU
  //   (errors)         the error that `step` returns or throws; CUDA's errors,
  //                    for instance if `step` used another stream and did not
  //                    order this one after it
  static StatusOr<CapturedStep> capture(Runtime& job,
                                        const CaptureOptions& options,
                                        const std::function<Status()>& step);

  // Runs the step once more. The step's memory is borrowed until the future is
  // ready; wait(stream) orders a stream after the replay.
  //   FailedPrecondition  this rank has left the job that captured the step
  //   Unimplemented       NCCL is not used between these ranks, or its
  //                       connections ended with a process set; the same on all
  //                       ranks
  //   (errors)            as of every collective (see runtime.h)
  Future<void> replay();

 private:
  CapturedStep(Membership membership, CaptureOptions options,
               std::shared_ptr<const device::CudaGraph> graph);

  Membership membership_;
  CaptureOptions options_;
  std::shared_ptr<const device::CudaGraph> graph_;
};

}  // namespace hvd
