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
  KernelsOfGpu& of_gpu = kernels_of(index);
  const MutexLock lock(of_gpu.mutex);
  if (!of_gpu.loaded) of_gpu.loaded.emplace(CudaKernels::load(context));
  if (!of_gpu.loaded->ok()) return of_gpu.loaded->status();
  return (*of_gpu.loaded)->get();
}

Gpus::KernelsOfGpu& Gpus::kernels_of(int index) {
  const MutexLock lock(mutex_);
  return kernels_[index];
}

// Not from a pool: a pool frees memory in the order of one stream, but a
// program may read a result in any.
absl::StatusOr<std::shared_ptr<std::byte>> Gpus::allocate(int index,
                                                          std::size_t bytes) {
  HVD_ASSIGN_OR_RETURN(CudaDriver* const cuda, driver());
  HVD_ASSIGN_OR_RETURN(const CudaContext context, cuda->context(index));
  return allocate_on(context, bytes);
}

}  // namespace hvd::device
