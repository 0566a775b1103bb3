// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/gpu_work.h"

namespace hvd::device {

Status GpuWork::order(void* stream) const {
  return span_.done.hold_up(static_cast<CuStream>(stream));
}

void GpuWork::on_end(Notify notify) {
  absl::Status outcome;
  {
    const MutexLock lock(mutex_);
    if (!is_over_) {
      waiting_.push_back(std::move(notify));
      return;
    }
    outcome = outcome_;
  }
  notify(outcome);
}

void GpuWork::end(const absl::Status& outcome) {
  std::vector<Notify> waiting;
  {
    const MutexLock lock(mutex_);
    if (is_over_) return;
    is_over_ = true;
    outcome_ = outcome;
    waiting.swap(waiting_);
  }
  // Call without the lock, because `notify` may call this object again.
  for (const Notify& notify : waiting) notify(outcome);
}

}  // namespace hvd::device
