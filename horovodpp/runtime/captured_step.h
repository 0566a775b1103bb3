// SPDX-License-Identifier: Apache-2.0
// A CapturedStep is what one step of a program puts into a stream of its GPU, collectives
// included, recorded once as a CUDA graph, and done again and again.
//
//   hvd::CapturedStep step = hvd::value_or_throw(hvd::CapturedStep::capture(
//       hvd::current_runtime(), {.name = "step", .device = gpu, .stream = stream},
//       [&] {
//         forward_and_backward(stream);             // kernels
//         sum.start();                              // hvd::Prepared, or any other call,
//         hvd::throw_if_error(sum.wait(stream));    // put behind again in the stream
//         update(stream);
//         return hvd::Status();
//       }));
//   for (...) {
//     hvd::throw_if_error(step.replay().wait(stream));
//   }
//
// Every rank of the process set captures the same collectives. To the others a replay is
// a collective by the step's name: ranks agree on each of them, in one order with all
// else that they submit, so that they may do other things between two replays, and stop
// when they like. The graph goes with the job, and as soon as a process set is removed:
// each later replay fails, and the step is to be captured anew.
//
// Collectives in it go by NCCL, between ranks that have used it before. Memory that it
// works on, buffers that it was given as results included, has to stay where it is as
// long as it is replayed.
//
// For one thread at a time.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <functional>
#include <memory>

#include "horovodpp/core/export.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/settings/capture_options.h"

namespace HVD_EXPORT hvd {

class Runtime;
namespace device {
class CudaGraph;
}

class CapturedStep {
 public:
  // Of no step: each replay fails with FailedPrecondition.
  CapturedStep();
  ~CapturedStep();
  CapturedStep(CapturedStep&& other) noexcept;
  CapturedStep& operator=(CapturedStep&& other) noexcept;

  // Calls `step` on this thread, and records what it puts into the stream instead of
  // doing it. Nothing is communicated but that the collectives are there.
  //   InvalidArgument  there is no name, no stream, or no such GPU
  //   (errors)         what `step` returns, or throws; CUDA's, for instance that it has
  //                    put something into another stream and not put this one behind it
  static StatusOr<CapturedStep> capture(Runtime& job,
                                        const CaptureOptions& options,
                                        const std::function<Status()>& step);

  // Does it once more. The memory of the step is borrowed until the future is ready;
  // wait(stream) puts a stream behind it.
  //   FailedPrecondition  this rank has left the job that it was captured in
  //   Unimplemented       NCCL is not used between these ranks, or its connections have
  //                       gone with a process set: the same on all ranks
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
