// SPDX-License-Identifier: Apache-2.0
// What several processes share of their GPUs: memory that others can open, and events
// that others can wait for. A ticket travels between processes by any means.
//
//   HVD_ASSIGN_OR_RETURN(IpcMemory mine, IpcMemory::allocate(context, bytes));
//   send(mine.ticket());                        // and elsewhere:
//   HVD_ASSIGN_OR_RETURN(IpcMemory theirs, IpcMemory::open(context, ticket));
//
// A process cannot open what is its own: there the memory is reached by its address,
// and from another GPU of the same process after enable_peer_access(). Memory is not
// to be given back before all who have opened it have let it go. Errors are Internal, with the
// driver's words, unless it says otherwise.
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
  //   ResourceExhausted  the GPU has not that much left
  static absl::StatusOr<IpcMemory> allocate(const CudaContext& context,
                                            std::size_t bytes);
  // For the GPU of `context` to read and write.
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

// An event that can be recorded again and again, here or, where it was opened, in
// another process. Who waits for it waits for its last recording: that it has been
// made is for the processes to know.
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

  // Happens when all that is in `stream`, of its GPU, by now is done.
  absl::Status record(const CudaStream& stream);
  absl::StatusOr<bool> has_happened() const {
    return device::has_happened(context_, event_);
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
//   FailedPrecondition  they are not connected in a way that allows it
absl::Status enable_peer_access(const CudaContext& context,
                                const CudaContext& peer);

}  // namespace hvd::device
