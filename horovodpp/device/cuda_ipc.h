// SPDX-License-Identifier: Apache-2.0
// GPU memory and events that several processes share: others can open the
// memory, and wait for the events. A handle ("ticket") is sent between
// processes by any means.
//
//   HVD_ASSIGN_OR_RETURN(IpcMemory mine, IpcMemory::allocate(context, bytes));
//   send(mine.ticket());                        // and elsewhere:
//   HVD_ASSIGN_OR_RETURN(IpcMemory theirs, IpcMemory::open(context, ticket));
//
// A process cannot open its own memory: use its address there, and from another
// GPU of the same process after enable_peer_access(). Free memory only after
// all who have opened it have closed it. Errors are Internal, with the driver's
// words, unless stated otherwise.
#pragma once

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/device/cuda_driver.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::device {

// Memory of a GPU that this process has allocated, or opened.
class IpcMemory {
 public:
  //   ResourceExhausted  the GPU has not enough memory left
  static absl::StatusOr<IpcMemory> allocate(const CudaContext& context,
                                            std::size_t bytes);
  // Opens memory for the GPU of `context` to read and write.
  static absl::StatusOr<IpcMemory> open(const CudaContext& context,
                                        const CuIpcHandle& ticket);
  IpcMemory(IpcMemory&& other) noexcept
      : context_(other.context_),
        memory_(std::exchange(other.memory_, 0)),
        opened_(other.opened_),
        ticket_(other.ticket_) {}
  IpcMemory& operator=(IpcMemory&&) = delete;
  ~IpcMemory();

  std::byte* data() const;
  const CuIpcHandle& ticket() const { return ticket_; }

 private:
  IpcMemory(const CudaContext& context, CuAddress memory, bool opened)
      : context_(context), memory_(memory), opened_(opened) {}

  CudaContext context_;
  CuAddress memory_;
  bool opened_;
  CuIpcHandle ticket_ = {};
};

// An event that can be recorded again and again, here or, where it was opened,
// in another process. A wait is for its last recording; the processes have to
// tell each other when that was made.
class IpcEvent {
 public:
  static absl::StatusOr<IpcEvent> create(const CudaContext& context);
  static absl::StatusOr<IpcEvent> open(const CudaContext& context,
                                       const CuIpcHandle& ticket);
  IpcEvent(IpcEvent&& other) noexcept
      : context_(other.context_),
        event_(std::exchange(other.event_, nullptr)),
        ticket_(other.ticket_) {}
  IpcEvent& operator=(IpcEvent&&) = delete;
  ~IpcEvent();

  // Records the event after all work in `stream`, which is of its GPU.
  absl::Status record(const CudaStream& stream);
  absl::StatusOr<bool> has_completed() const {
    return device::has_completed(context_, event_);
  }

  CuEvent handle() const { return event_; }
  const CuIpcHandle& ticket() const { return ticket_; }

 private:
  IpcEvent(const CudaContext& context, CuEvent event)
      : context_(context), event_(event) {}

  CudaContext context_;
  CuEvent event_;
  CuIpcHandle ticket_ = {};
};

// Lets the GPU of `context` read and write memory of `peer`'s, in this process.
//   FailedPrecondition  their connection does not allow it
absl::Status enable_peer_access(const CudaContext& context,
                                const CudaContext& peer);

}  // namespace hvd::device
