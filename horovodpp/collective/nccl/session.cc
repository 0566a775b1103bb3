// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/session.h"

#include <algorithm>

#include "horovodpp/core/status.h"
#include "horovodpp/device/cuda_memory.h"

namespace hvd::collective {

absl::StatusOr<std::shared_ptr<std::byte>> NcclSession::allocate(
    int gpu, std::size_t bytes) {
  HVD_ASSIGN_OR_RETURN(device::CudaDriver* const cuda, gpus_.driver());
  HVD_ASSIGN_OR_RETURN(const device::CudaContext context, cuda->context(gpu));
  const std::size_t any = std::max<std::size_t>(bytes, 1);
  if (options_.use.any()) {
    const auto nccl = library_.api();
    if (nccl.ok() && (*nccl)->has_memory()) {
      return options_.arena->allocate(**nccl, context, any);
    }
  }
  return device::allocate_on(context, any);
}

absl::StatusOr<device::CudaStream*> NcclSession::stream_in(Streams& streams,
                                                           int gpu) {
  std::unique_ptr<device::CudaStream>& stream = streams[gpu];
  if (stream == nullptr) {
    HVD_ASSIGN_OR_RETURN(device::CudaDriver* const cuda, gpus_.driver());
    HVD_ASSIGN_OR_RETURN(const device::CudaContext context, cuda->context(gpu));
    HVD_ASSIGN_OR_RETURN(device::CudaStream made,
                         device::CudaStream::create(context));
    stream = std::make_unique<device::CudaStream>(std::move(made));
  }
  return stream.get();
}

}  // namespace hvd::collective
