// SPDX-License-Identifier: Apache-2.0
// A StreamRoom sees to it that no more is put into a stream of a GPU than a driver takes
// at once. A full queue blocks whoever puts in the next operation, where nothing can interrupt
// it; and what is in the stream may never end (gpu_wait.h).
//
// The length of the queue cannot be asked. NVIDIA does not document it; programs see launches
// block after about 1,000. A driver may also map several streams to one queue, and this library
// has four on a GPU: NCCL's, the window's, and the staging lane's two. So each stream gets a
// quarter. The program's own streams may still fill a queue that they share with these.
//
//   HVD_RETURN_IF_ERROR(room.make(stream, 1, wait));
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

class StreamRoom {
 public:
  // Of what has been made room for, no more is in the stream than these segments have,
  // and the operations of one call of make().
  static constexpr std::size_t kSegment = 64;
  static constexpr std::size_t kMostSegments = 4;

  using Wait = absl::FunctionRef<absl::Status(const device::CudaEvent& event)>;
  // Returns when so many `operations` may be put into `stream`, the same each time, which
  // are put there next: a few of them, or up to kSegment. Where it is full, has `wait`
  // wait for an event in it.
  //   (errors)  CUDA's, and those of `wait`
  absl::Status make(const device::CudaStream& stream, std::size_t operations,
                    Wait wait);

 private:
  std::size_t since_ = 0;  // The last end of a segment.
  std::deque<device::CudaEvent> ends_;
};

}  // namespace hvd::collective
