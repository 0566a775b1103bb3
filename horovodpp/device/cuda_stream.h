// SPDX-License-Identifier: Apache-2.0
// A CudaStream is a queue of work on one GPU; a CudaEvent is a point in such a
// queue that others can wait for.
//
//   HVD_ASSIGN_OR_RETURN(CudaEvent ready, CudaEvent::after(context, producer));
//   HVD_RETURN_IF_ERROR(stream.wait_for(ready));
//   HVD_RETURN_IF_ERROR(stream.copy(host, gpu, bytes));
//   HVD_RETURN_IF_ERROR(stream.synchronize());
//
// They own their handles; moved, not copied. Any thread may use them, one at a
// time. All errors are Internal, with the driver's words.
#pragma once

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/device/cuda_driver.h"

namespace hvd::device {

// Whether it is the legacy default stream.
bool is_legacy(CuStream stream);

// Whether the last recording of `event` has happened.
absl::StatusOr<bool> has_completed(const CudaContext& context, CuEvent event);

class CudaEvent {
 public:
  // An event that happens when all work in `stream` so far (nullptr: the legacy
  // default stream) is done.
  //   FailedPrecondition  it is the legacy default stream, which accepts no
  //                       work while a stream that is ordered with it is
  //                       captured
  static absl::StatusOr<CudaEvent> after(const CudaContext& context,
                                         CuStream stream);

  CudaEvent(CudaEvent&& other) noexcept
      : context_(other.context_),
        event_(std::exchange(other.event_, nullptr)) {}
  CudaEvent& operator=(CudaEvent&&) = delete;
  ~CudaEvent();

  // Blocks this thread until the event has happened.
  absl::Status wait() const;
  absl::StatusOr<bool> has_completed() const {
    return device::has_completed(context_, event_);
  }

  // Makes later work in `stream` (nullptr: the legacy default stream of this
  // GPU) wait for the event.
  //   FailedPrecondition  as after()
  absl::Status hold_up(CuStream stream) const;

  CuEvent handle() const { return event_; }

 private:
  CudaEvent(const CudaContext& context, CuEvent event)
      : context_(context), event_(event) {}

  CudaContext context_;
  CuEvent event_;
};

class CudaStream {
 public:
  // A stream of the highest priority, not ordered with the legacy default
  // stream.
  static absl::StatusOr<CudaStream> create(const CudaContext& context);

  CudaStream(CudaStream&& other) noexcept
      : context_(other.context_),
        stream_(std::exchange(other.stream_, nullptr)) {}
  CudaStream& operator=(CudaStream&&) = delete;
  // Does not wait: queued work is still done.
  ~CudaStream();

  // Makes later work in this stream wait for the last recording of `event`.
  absl::Status wait_for(CuEvent event) const;
  absl::Status wait_for(const CudaEvent& event) const {
    return wait_for(event.handle());
  }

  // Enqueues a copy, between memory of any GPU and of the host. Host memory
  // that is not pinned may block the caller.
  absl::Status copy(void* to, const void* from, std::size_t bytes);

  // Blocks this thread until all queued work is done; returns its error.
  absl::Status synchronize();

  const CudaContext& context() const { return context_; }
  CuStream handle() const { return stream_; }

 private:
  CudaStream(const CudaContext& context, CuStream stream)
      : context_(context), stream_(stream) {}

  CudaContext context_;
  CuStream stream_;
};

}  // namespace hvd::device
