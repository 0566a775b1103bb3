// SPDX-License-Identifier: Apache-2.0
// A StreamThrottle limits the number of operations in a GPU's stream to the
// number that a driver accepts without blocking. A full queue blocks the thread
// that enqueues the next operation, where no interrupt reaches it; and the
// queued work may never end (gpu_wait.h).
//
// No call returns the length of the queue. NVIDIA does not document it;
// programs see launches block after about 1,000. A driver may also map several
// streams to one queue. This library has four streams on a GPU: NCCL's, the
// window's, and the staging lane's two. So each stream gets a quarter. The
// program's own streams may still fill a queue that they share with these.
//
//   HVD_RETURN_IF_ERROR(throttle.make(stream, 1, wait));
//   HVD_RETURN_IF_ERROR(stream.copy(to, from, bytes));
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::collective {

class StreamThrottle {
 public:
  // The stream never holds more than these segments and the operations of one
  // make() call.
  static constexpr std::size_t kSegment = 64;
  static constexpr std::size_t kMaxSegments = 4;

  using Wait = absl::FunctionRef<absl::Status(const device::CudaEvent& event)>;
  // Returns when `operations` operations may be enqueued on `stream`, which is
  // the same each time. Enqueue them next: a few, or up to kSegment. If the
  // stream is full, `wait` waits for an event in it.
  //   (errors)  CUDA's errors, and the errors of `wait`
  absl::Status make(const device::CudaStream& stream, std::size_t operations,
                    Wait wait);

 private:
  std::size_t since_ = 0;  // Operations since the last end of a segment.
  std::deque<device::CudaEvent> ends_;
};

}  // namespace hvd::collective
