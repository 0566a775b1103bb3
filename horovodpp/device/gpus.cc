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

Gpus::Results Gpus::results_of(const CudaContext& context) {
  auto pool = CudaPool::create(context);
  auto stream = CudaStream::create(context);
  if (!pool.ok() || !stream.ok()) return {};
  return {.pool = *std::move(pool), .stream = *std::move(stream)};
}

absl::StatusOr<std::shared_ptr<std::byte>> Gpus::allocate(int index,
                                                          std::size_t bytes) {
  HVD_ASSIGN_OR_RETURN(CudaDriver* const cuda, driver());
  HVD_ASSIGN_OR_RETURN(const CudaContext context, cuda->context(index));
  if (bytes == 0) return std::shared_ptr<std::byte>();
  const MutexLock lock(mutex_);
  auto found = results_.find(index);
  if (found == results_.end()) {
    found = results_.emplace(index, results_of(context)).first;
  }
  Results& results = found->second;
  if (results.pool == nullptr) return allocate_on(context, bytes);
  HVD_ASSIGN_OR_RETURN(std::byte* const memory,
                       results.pool->allocate(*results.stream, bytes));
  // For all streams; there is nothing else in this one. It goes back after all that
  // works with it, which only its owner knows: as other memory does.
  std::shared_ptr<std::byte> owned = owned_on(context, memory);
  HVD_RETURN_IF_ERROR(results.stream->synchronize());
  return owned;
}

}  // namespace hvd::device
