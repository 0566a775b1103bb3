// SPDX-License-Identifier: Apache-2.0
// A StagingLane connects one GPU and the host: a stream down, a stream up, and
// pinned host memory.
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
#include "horovodpp/collective/stream_throttle.h"
#include "horovodpp/device/cuda_memory.h"
#include "horovodpp/device/cuda_stream.h"

namespace hvd::collective {

// Allocates host memory that planes move without a copy; may return nullptr.
using StagingSource = std::function<std::shared_ptr<std::byte>(std::size_t)>;

// Pinned memory that grows. It comes from a source as long as the source has
// memory that can be pinned, else from the driver.
class StagingMemory {
 public:
  StagingMemory(const device::CudaContext& context, StagingSource source)
      : context_(context), source_(std::move(source)), own_(context) {}

  // As PinnedMemory::at_least().
  absl::StatusOr<std::byte*> at_least(std::size_t bytes);

 private:
  const device::CudaContext context_;
  const StagingSource source_;
  // Must be unpinned before it is released.
  std::shared_ptr<std::byte> shared_;
  std::unique_ptr<device::PinnedRange> pinned_;
  std::size_t shared_bytes_ = 0;
  device::PinnedMemory own_;
};

// A stream with no more queued operations than a driver takes without blocking
// (stream_throttle.h).
class StagingStream {
 public:
  explicit StagingStream(device::CudaStream stream)
      : stream_(std::move(stream)) {}

  // Makes later work wait for `event`. `wait` is the current call's.
  absl::Status wait_for(const device::CudaEvent& event, GpuWait& wait);
  absl::Status copy(void* to, const void* from, std::size_t bytes,
                    GpuWait& wait);

  device::CudaStream& stream() { return stream_; }

 private:
  absl::Status make_room(GpuWait& wait);

  device::CudaStream stream_;
  StreamThrottle throttle_;
};

struct StagingLane {
  // One chunk is copied down, one is reduced, and one is copied up.
  static constexpr std::size_t kSlots = 3;

  static absl::StatusOr<std::unique_ptr<StagingLane>> make(
      const device::CudaContext& context, const StagingSource& source);

  StagingLane(device::CudaStream from_gpu, device::CudaStream to_gpu,
              const device::CudaContext& context, const StagingSource& source)
      : down(std::move(from_gpu)),
        up(std::move(to_gpu)),
        whole(context, source),
        slots{{context, source}, {context, source}, {context, source}} {}

  StagingStream down;           // From the GPU.
  StagingStream up;             // To the GPU.
  StagingMemory whole;          // For a call in one piece.
  StagingMemory slots[kSlots];  // For calls in chunks.
};

}  // namespace hvd::collective
