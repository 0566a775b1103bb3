// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/gpu_work.h"

namespace hvd::device {

Status GpuWork::order(void* stream) const {
  return span_.done.hold_up(static_cast<CuStream>(stream));
}

void GpuWork::when_over(Tell tell) {
  absl::Status outcome;
  {
    const MutexLock lock(mutex_);
    if (!is_over_) {
      told_.push_back(std::move(tell));
      return;
    }
    outcome = outcome_;
  }
  tell(outcome);
}

void GpuWork::end(const absl::Status& outcome) {
  std::vector<Tell> told;
  {
    const MutexLock lock(mutex_);
    if (is_over_) return;
    is_over_ = true;
    outcome_ = outcome;
    told.swap(told_);
  }
  // Call without the lock, because `tell` may call this object again.
  for (const Tell& tell : told) tell(outcome);
}

}  // namespace hvd::device
