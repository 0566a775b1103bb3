// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/gpus.h"

namespace hvd::device {

Gpus& Gpus::of_process() {
  static Gpus* const gpus = new Gpus;
  return *gpus;
}

void Gpus::look_for(const std::string& driver_file) {
  const MutexLock lock(mutex_);
  if (loaded_ == nullptr) file_ = driver_file;
}

absl::StatusOr<CudaDriver*> Gpus::driver() {
  const MutexLock lock(mutex_);
  if (loaded_ == nullptr) {
    loaded_ = std::make_unique<const Loaded>(CudaDriver::load(file_));
  }
  if (!loaded_->ok()) return loaded_->status();
  return (*loaded_)->get();
}

}  // namespace hvd::device
