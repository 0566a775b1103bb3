// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/stream_throttle.h"

#include <utility>

#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::Status StreamThrottle::make(const device::CudaStream& stream,
                                  std::size_t operations, Wait wait) {
  if (since_ > 0 && since_ + operations > kSegment) {
    HVD_ASSIGN_OR_RETURN(
        device::CudaEvent end,
        device::CudaEvent::after(stream.context(), stream.handle()));
    ends_.push_back(std::move(end));
    since_ = 0;
  }
  since_ += operations;
  // The segment that has begun counts as one.
  while (ends_.size() >= kMaxSegments) {
    HVD_RETURN_IF_ERROR(wait(ends_.front()));
    ends_.pop_front();
  }
  return absl::OkStatus();
}

}  // namespace hvd::collective
