// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/gpus.h"

#include "horovodpp/core/status.h"

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

absl::StatusOr<const CudaKernels*> Gpus::kernels(int index) {
  HVD_ASSIGN_OR_RETURN(CudaDriver* const cuda, driver());
  HVD_ASSIGN_OR_RETURN(const CudaContext context, cuda->context(index));
  const MutexLock lock(mutex_);
  auto found = kernels_.find(index);
  if (found == kernels_.end()) {
    found = kernels_.emplace(index, CudaKernels::load(context)).first;
  }
  if (!found->second.ok()) return found->second.status();
  return found->second->get();
}

// Not of a pool: what is of one goes back without a wait for those that work with it, and
// the next one gets it while they do.
absl::StatusOr<std::shared_ptr<std::byte>> Gpus::allocate(int index,
                                                          std::size_t bytes) {
  HVD_ASSIGN_OR_RETURN(CudaDriver* const cuda, driver());
  HVD_ASSIGN_OR_RETURN(const CudaContext context, cuda->context(index));
  return allocate_on(context, bytes);
}

}  // namespace hvd::device
