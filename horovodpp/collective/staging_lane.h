// SPDX-License-Identifier: Apache-2.0
// A StagingLane is the way between one GPU and the host: a stream down, a stream up, and
// memory of the host that the GPU copies to and from without a detour.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/gpu_wait.h"
#include "horovodpp/collective/stream_room.h"
#include "horovodpp/device/cuda_memory.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::collective {

// Memory of the host that planes move without a copy of their own; nullptr: there is
// none.
using StagingSource = std::function<std::shared_ptr<std::byte>(std::size_t)>;

// Pinned memory that grows: from a source as long as that has some, and it can be
// pinned, else the driver's.
class StagingMemory {
 public:
  StagingMemory(const device::CudaContext& context, StagingSource source)
      : context_(context), source_(std::move(source)), own_(context) {}

  // As PinnedMemory::at_least().
  absl::StatusOr<std::byte*> at_least(std::size_t bytes);

 private:
  const device::CudaContext context_;
  const StagingSource source_;
  // Pinned no longer than it lives.
  std::shared_ptr<std::byte> shared_;
  std::unique_ptr<device::PinnedRange> pinned_;
  std::size_t shared_bytes_ = 0;
  device::PinnedMemory own_;
};

// A stream that is given no more than a driver takes without blocking (stream_room.h).
class StagingStream {
 public:
  explicit StagingStream(device::CudaStream stream)
      : stream_(std::move(stream)) {}

  // What is put into it from now on waits for `event`. `wait` is of the call at hand.
  absl::Status wait_for(const device::CudaEvent& event, GpuWait& wait);
  absl::Status copy(void* to, const void* from, std::size_t bytes,
                    GpuWait& wait);

  device::CudaStream& stream() { return stream_; }

 private:
  absl::Status make_room(GpuWait& wait);

  device::CudaStream stream_;
  StreamRoom room_;
};

struct StagingLane {
  // What is on its way down, is reduced, and is on its way up.
  static constexpr std::size_t kSlots = 3;

  static absl::StatusOr<std::unique_ptr<StagingLane>> make(
      const device::CudaContext& context, const StagingSource& source);

  StagingLane(device::CudaStream from_gpu, device::CudaStream to_gpu,
              const device::CudaContext& context, const StagingSource& source)
      : down(std::move(from_gpu)),
        up(std::move(to_gpu)),
        whole(context, source),
        slots{{context, source}, {context, source}, {context, source}} {}

  StagingStream down;           // From the GPU,
  StagingStream up;             // and to it.
  StagingMemory whole;          // Of a call that is carried in one piece,
  StagingMemory slots[kSlots];  // and of those that go in chunks.
};

}  // namespace hvd::collective
