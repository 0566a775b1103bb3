// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/gpus.h"

namespace hvd::device {

absl::StatusOr<CudaDriver*> Gpus::driver() {
  const MutexLock lock(mutex_);
  if (loaded_ == nullptr) {
    loaded_ = std::make_unique<const Loaded>(CudaDriver::load(file_));
  }
  if (!loaded_->ok()) return loaded_->status();
  return (*loaded_)->get();
}

}  // namespace hvd::device
