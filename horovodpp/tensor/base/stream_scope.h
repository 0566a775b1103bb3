// SPDX-License-Identifier: Apache-2.0
// The stream of a GPU into which a thread's operations on tensors go: the legacy
// default stream, or that of the innermost StreamScope of the GPU.
//
//   {
//     hvd::StreamScope scope(hvd::Device::cuda(0), stream);   // a cudaStream_t
//     y = x * w;                                // enqueued in `stream`
//   }
//
// A tensor's memory is reused in the order of the stream in which it was made.
// Operations on tensors note by themselves that they use it in another stream,
// but do not wait for the stream that writes it: order the two by an event.
#pragma once

#include "horovodpp/core/device.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace HVD_EXPORT hvd {

class StreamScope {
 public:
  // The stream outlives the scope.
  StreamScope(Device device, void* stream)
      : device_(device),
        stream_(stream),
        outer_(autograd::thread_state.streams) {
    autograd::thread_state.streams = this;
  }
  ~StreamScope() { autograd::thread_state.streams = outer_; }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

  // This thread's stream of a GPU; nullptr: the legacy default stream.
  static void* current(Device device) {
    const StreamScope* scope = autograd::thread_state.streams;
    while (scope != nullptr && !(scope->device_ == device)) {
      scope = scope->outer_;
    }
    return scope == nullptr ? nullptr : scope->stream_;
  }

 private:
  const Device device_;
  void* const stream_;
  const StreamScope* const outer_;
};

}  // namespace hvd
