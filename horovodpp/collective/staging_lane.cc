// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/staging_lane.h"

#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::StatusOr<std::byte*> StagingMemory::at_least(std::size_t bytes) {
  if (bytes <= shared_bytes_) return shared_.get();
  pinned_.reset();
  shared_ = source_ == nullptr ? nullptr : source_(bytes);
  shared_bytes_ = 0;
  if (shared_ == nullptr) return own_.at_least(bytes);
  auto pinned = device::PinnedRange::pin(context_, shared_, bytes);
  if (!pinned.ok()) {
    shared_ = nullptr;
    return own_.at_least(bytes);
  }
  pinned_ = *std::move(pinned);
  shared_bytes_ = bytes;
  return shared_.get();
}

absl::Status StagingStream::make_room(GpuWait& wait) {
  return throttle_.make(stream_, 1, [&](const device::CudaEvent& event) {
    return wait.until(event);
  });
}

absl::Status StagingStream::wait_for(const device::CudaEvent& event,
                                     GpuWait& wait) {
  HVD_RETURN_IF_ERROR(make_room(wait));
  return stream_.wait_for(event);
}

absl::Status StagingStream::copy(void* to, const void* from, std::size_t bytes,
                                 GpuWait& wait) {
  HVD_RETURN_IF_ERROR(make_room(wait));
  return stream_.copy(to, from, bytes);
}

absl::StatusOr<std::unique_ptr<StagingLane>> StagingLane::make(
    const device::CudaContext& context, const StagingSource& source) {
  HVD_ASSIGN_OR_RETURN(device::CudaStream down,
                       device::CudaStream::create(context));
  HVD_ASSIGN_OR_RETURN(device::CudaStream up,
                       device::CudaStream::create(context));
  return std::make_unique<StagingLane>(std::move(down), std::move(up), context,
                                       source);
}

}  // namespace hvd::collective
